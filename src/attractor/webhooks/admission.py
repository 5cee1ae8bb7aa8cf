"""``validate`` and ``mutate``: admission webhooks as typed functions of an object and the request that writes it.

Contract: a webhook is a function of its two arguments. It reads no clock, no files and no other objects, and it may be
called more than once for one write. So a server may ask it in any process, and the checker may explore it.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, Unpack, get_args

from attractor.objects.resource import Resource
from attractor.objects.type_hints import signature_of

R = TypeVar("R", bound=Resource)
Operation = Literal["CREATE", "UPDATE", "DELETE"]
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_TIMES_S = range(1, 31)


class WebhookError(TypeError):
    """A webhook's declaration cannot work; the text says why and names the fix."""


class Denied(Exception):
    """Raised by a webhook to refuse a write: 403, with this text for whoever writes."""


@dataclass(frozen=True)
class UserInfo:
    """The user whose request a webhook judges."""

    name: str = ""
    """Such as ``system:serviceaccount:default:my-operator``."""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass
class AdmissionRequest(Generic[R]):
    """The request that writes or deletes an object, as a webhook sees it; every field has a default, for tests."""

    operation: Operation = "CREATE"
    """What happens: an apply of something new is a create."""
    old: R | None = None
    """The object as it is stored; None on create."""
    user: UserInfo = field(default_factory=UserInfo)
    """Who writes."""
    dry_run: bool = False
    """Whether nothing will be kept."""
    name: str = ""
    """The object's name; empty while it is yet to be generated."""
    namespace: str = ""
    subresource: str = ""
    """Such as ``status``; empty for the object itself."""
    warnings: list[str] = field(default_factory=list)
    """What ``warn`` said."""
    refusals: list[tuple[str, str]] = field(default_factory=list)
    """What ``refuse`` said: fields and reasons."""

    def warn(self, text: str) -> None:
        """Tell whoever writes something, without refusing; kubectl prints it."""
        self.warnings.append(text)

    def refuse(self, field: str, why: str) -> None:
        """Refuse the write because of a field, such as ``spec.tier``; several are told together, as 422 Invalid."""
        self.refusals.append((field, why))


Judge: TypeAlias = Callable[[R, AdmissionRequest[R]], None]
Change: TypeAlias = Callable[[R, AdmissionRequest[R]], R | None]


@dataclass(frozen=True, eq=False)
class AdmissionWebhook(Generic[R]):
    """An admission webhook's declaration: its function, and which writes it is asked about.

    Make it with ``validate`` or ``mutate``. It is called like the function itself, so tests need nothing else.
    """

    name: str
    """A DNS label, the only one of its operator; in refusals and paths."""
    kind: type[R]
    """The class of the objects that it is asked about."""
    function: Callable[[R, AdmissionRequest[R]], R | None]
    mutates: bool
    """Whether it may change the object; validating webhooks come after all that do."""
    operations: tuple[Operation, ...] = ("CREATE", "UPDATE")
    subresource: str = ""
    """The subresource whose writes it is asked about; empty for the object itself."""
    fails_open: bool = False
    """Whether writes go on while the webhook cannot be asked; otherwise they are refused."""
    timeout_s: int = 10
    """How long a server waits for its answer."""
    object_labels: Mapping[str, str] = field(default_factory=dict)
    """Only objects with these labels."""
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    """Only objects in namespaces with these labels."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Only requests for which these CEL expressions are true, by name, as in ``matchConditions``."""

    def __post_init__(self) -> None:
        _check(self)

    def __call__(self, obj: R, request: AdmissionRequest[R]) -> R | None:
        """Call the function."""
        return self.function(obj, request)

    @property
    def path(self) -> str:
        """The path at which it is served."""
        return f"/{'mutate' if self.mutates else 'validate'}/{self.name}"

    @property
    def qualified_name(self) -> str:
        """The name that a server knows it by, and that its refusals begin with."""
        info = self.kind.resource_info
        return f"{self.name}.{info.resource}.{info.group or 'core'}"


class WebhookOptions(TypedDict, total=False):
    """The options of ``validate`` and ``mutate`` that are fields of ``AdmissionWebhook``."""

    name: str
    subresource: str
    fails_open: bool
    timeout_s: int
    object_labels: Mapping[str, str]
    namespace_labels: Mapping[str, str]
    conditions: Mapping[str, str]


def validate(
    kind: type[R], *, on: Sequence[Operation] = ("CREATE", "UPDATE"), **options: Unpack[WebhookOptions]
) -> Callable[[Judge[R]], AdmissionWebhook[R]]:
    """Declare a function that judges writes of a kind: it returns to allow, and refuses by name or with ``Denied``.

        @validate(WebService)
        def fits(service: WebService, request: AdmissionRequest[WebService]) -> None:
            if request.old is not None and request.old.spec.tier != service.spec.tier:
                request.refuse("spec.tier", "cannot be changed")

    The function gets the object as it will be stored; on delete, the one that is about to go.

    Args:
        kind: The class of the objects.
        on: ``CREATE``, ``UPDATE``, ``DELETE``.
        **options: Other fields of ``AdmissionWebhook``: ``name``, ``subresource``, ``fails_open``, ``timeout_s``,
            ``object_labels``, ``namespace_labels``, ``conditions``.

    Raises:
        WebhookError: The declaration cannot work; the text names the fix.
    """
    return lambda function: _declared(kind, function, mutates=False, on=on, options=options)


def mutate(
    kind: type[R], *, on: Sequence[Operation] = ("CREATE", "UPDATE"), **options: Unpack[WebhookOptions]
) -> Callable[[Change[R]], AdmissionWebhook[R]]:
    """Declare a function that changes what is written of a kind, before it is validated and stored.

        @mutate(WebService)
        def sized(service: WebService, request: AdmissionRequest[WebService]) -> None:
            if service.spec.tier == "large":
                service.spec.replicas = max(service.spec.replicas, 3)

    The function changes the object that it gets, or returns another one. Only what differs is sent back, so fields that
    the class does not know stay. It may refuse and warn, as with ``validate``. Applied twice it must do nothing more.

    Args:
        kind: The class of the objects.
        on: ``CREATE``, ``UPDATE``.
        **options: Other fields of ``AdmissionWebhook``, as for ``validate``.

    Raises:
        WebhookError: The declaration cannot work; the text names the fix.
    """
    return lambda function: _declared(kind, function, mutates=True, on=on, options=options)


def _declared(
    kind: type[R], function: Change[R], *, mutates: bool, on: Sequence[Operation], options: WebhookOptions
) -> AdmissionWebhook[R]:
    name = options.get("name") or getattr(function, "__name__", "").replace("_", "-").lower()
    known = WebhookOptions.__annotations__.keys()
    for option in options.keys() - known:
        near = difflib.get_close_matches(option, known, n=1)
        hint = f"did you mean `{near[0]}=`?" if near else f"there are: on, {', '.join(known)}"
        raise WebhookError(f"webhook {name!r} has no option {option!r}; {hint}")
    operations: tuple[Any, ...] = (on,) if isinstance(on, str) else tuple(on)
    given: WebhookOptions = {**options, "name": name}
    return AdmissionWebhook(kind=kind, function=function, mutates=mutates, operations=operations, **given)


def _check(hook: AdmissionWebhook[Any]) -> None:
    name, kind = hook.name, hook.kind
    verb = "mutate" if hook.mutates else "validate"
    if not _NAME.fullmatch(name):
        raise WebhookError(f"webhook name {name!r} is no DNS label; write @{verb}(..., name='my-rule')")
    if not (isinstance(kind, type) and issubclass(kind, Resource) and hasattr(kind, "gvk")):
        raise WebhookError(f"webhook {name!r} needs the class of a kind, as in @{verb}(WebService), not {kind!r}")
    unknown = sorted(set(hook.operations) - set(get_args(Operation)))
    if unknown or not hook.operations:
        raise WebhookError(f"webhook {name!r} is for {unknown or 'nothing'}; give on=('CREATE', 'UPDATE', 'DELETE')")
    if hook.mutates and "DELETE" in hook.operations:
        raise WebhookError(f"webhook {name!r}: there is nothing to change about what is deleted; use @validate")
    if hook.timeout_s not in _TIMES_S:
        raise WebhookError(f"webhook {name!r} has a timeout of {hook.timeout_s!r} s; servers take 1 to 30")
    if inspect.iscoroutinefunction(hook.function):
        raise WebhookError(
            f"webhook {name!r} is `async`; it judges what it is given and waits for nothing: write `def`"
        )
    try:
        signature_of(hook.function).bind(None, None)
    except TypeError:
        raise WebhookError(f"webhook {name!r} must take an object and a request: `def rule(obj, request)`") from None
