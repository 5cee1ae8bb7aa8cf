"""``MODULE[:NAME]`` on the command line: where a person's controllers are."""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.cli.operator.python_modules import ModuleError, imported
from attractor.objects.resource import KindError, Resource, SchemaError
from attractor.runtime.controller import Controller
from attractor.webhooks import AdmissionWebhook, Conversion, WebhookError, WebhookSet

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import ModuleType

    from attractor.objects.json_types import JsonObject
    from attractor.webhooks import Webhook

HELP = "a module or a file, such as my.operator or my_operator.py, and a controller in it, such as my_operator.py:pairs"


@dataclass(frozen=True)
class OperatorModule:
    """A module with controllers, as the command line found it."""

    name: str
    """The module's last name, fit for a Kubernetes name."""
    spelled: str
    module: ModuleType
    controllers: tuple[Controller, ...]
    externals: Mapping[Any, object]
    """Outside systems: the module's attribute ``externals``, a dict by protocol class; see ``opened``."""
    webhooks: tuple[Webhook, ...] = ()
    """The module's webhooks and conversions, whichever of its controllers is named."""

    @property
    def kinds(self) -> list[type[Resource]]:
        """The custom kinds that the module's controllers use, and those that it defines itself."""
        used = [kind for one in self.controllers for kind in one.kinds] + _concerned(self.webhooks)
        own = [
            value
            for value in vars(self.module).values()
            if isinstance(value, type) and issubclass(value, Resource) and value.__module__ == self.module.__name__
        ]
        found = dict.fromkeys([*used, *own])
        return [kind for kind in found if hasattr(kind, "gvk") and not kind.resource_info.definition]


def load(spelled: str) -> OperatorModule:
    """Import a module and find its controllers; raises ``ModuleError``."""
    path, _, name = spelled.partition(":")
    module = imported(path)
    externals = getattr(module, "externals", {})
    if not isinstance(externals, dict):
        raise ModuleError(f"{path}: `externals` is no dict", "write externals = {Protocol: implementation}")
    found = _named(module, path, name) if name else _all(module)
    label = Path(path).stem if path.endswith(".py") else path.rpartition(".")[2]
    return OperatorModule(label.replace("_", "-").lower(), spelled, module, found, externals, _webhooks(module, path))


def _concerned(webhooks: tuple[Webhook, ...]) -> list[type[Resource]]:
    """The kinds that webhooks are about, the oldest versions first."""
    versions = [kind for each in WebhookSet(webhooks).versions() for kind in each.classes.values()]
    return [*(hook.kind for hook in webhooks if isinstance(hook, AdmissionWebhook)), *versions]


def _webhooks(module: ModuleType, path: str) -> tuple[Webhook, ...]:
    declared = (value for value in vars(module).values() if isinstance(value, AdmissionWebhook | Conversion))
    found = tuple(dict.fromkeys(declared))
    try:
        WebhookSet(found)
    except WebhookError as error:
        raise ModuleError(f"{path}: {error}", "rename one of them") from error
    return found


def _all(module: ModuleType) -> tuple[Controller, ...]:
    return tuple(dict.fromkeys(value for value in vars(module).values() if isinstance(value, Controller)))


def _named(module: ModuleType, path: str, name: str) -> tuple[Controller, ...]:
    value: Any = getattr(module, name, None)
    if value is None:
        known = ", ".join(key for key, one in vars(module).items() if isinstance(one, Controller)) or "none"
        raise ModuleError(f"{path} has no {name!r}", f"name one of its controllers (there are: {known})")
    if inspect.isfunction(value):
        value = _made(value, f"{path}:{name}")
    found = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not found or not all(isinstance(one, Controller) for one in found):
        raise ModuleError(
            f"{path}:{name} is no controller", "name a Controller, a list of them, or a function that makes them"
        )
    return found


def _made(maker: Any, spelled: str) -> Any:
    needed = [one.name for one in inspect.signature(maker).parameters.values() if one.default is one.empty]
    if inspect.iscoroutinefunction(maker):
        raise ModuleError(f"{spelled} is a bare async function", "declare it with @controller(for_=...)")
    if needed:
        raise ModuleError(
            f"{spelled} is no controller, and as a function that makes controllers it needs {', '.join(needed)}",
            "name a Controller, a list of them, or a function without arguments that makes them",
        )
    return maker()


@contextlib.asynccontextmanager
async def opened(externals: Mapping[Any, object]) -> AsyncIterator[dict[Any, object]]:
    """Outside systems, ready for use: those that are async context managers are entered, and left at the end."""
    async with contextlib.AsyncExitStack() as stack:
        yield {
            protocol: await stack.enter_async_context(one)
            if isinstance(one, contextlib.AbstractAsyncContextManager)
            else one
            for protocol, one in externals.items()
        }


def definitions(loaded: OperatorModule, *, in_process: bool = False) -> list[JsonObject]:
    """The CustomResourceDefinitions of a module's kinds; raises ``ModuleError`` when a class makes none.

    Objects of kinds with conversions are converted by a server's own process, or by the operator's Service.
    """
    from attractor.runtime.manifests import Operator
    from attractor.runtime.webhook_manifests import client_of

    try:
        client = None if in_process else client_of(Operator(loaded.name))
        return WebhookSet(loaded.webhooks).definitions(loaded.kinds, client)
    except (KindError, SchemaError) as error:
        raise ModuleError(f"{loaded.spelled} declares what no server can serve: {error}", "mend that class") from error


def need_controllers(loaded: OperatorModule) -> None:
    """Raise ``ModuleError`` when there is nothing to run."""
    if not loaded.controllers:
        raise ModuleError(
            f"{loaded.spelled} declares no controller",
            "declare one with @controller(for_=...), see `attractor run --help`",
        )


def need_externals(loaded: OperatorModule) -> None:
    """Raise ``ModuleError`` when a controller needs an outside system that the module does not bring."""
    for one in loaded.controllers:
        for protocol in one.externals:
            if protocol not in loaded.externals:
                name = protocol.__name__
                raise ModuleError(
                    f"controller {one.name!r} needs the outside system {name}, and {loaded.spelled} brings none",
                    f"write `externals = {{{name}: ...}}` in the module, with an object that has its methods",
                )
