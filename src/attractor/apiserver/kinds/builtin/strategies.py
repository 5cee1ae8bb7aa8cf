"""The strategy of a built-in kind: decoding, defaults, preparation and rules put together.

>>> from attractor.k8s.catalog import find
>>> strategy = strategy_for(find("", "v1", "services"))
>>> strategy.has_generation, strategy.allow_create_on_update, strategy.validate_name("-st")[0][:28]
(False, True, 'a lowercase RFC 1123 label m')
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin import kind_facts, preparation, subresources, validation
from attractor.apiserver.kinds.builtin.decode import decoder
from attractor.apiserver.kinds.builtin.defaults import defaulter
from attractor.apiserver.kinds.builtin.number_conversion import fitted
from attractor.apiserver.kinds.builtin.validation.core import validate_finalizers
from attractor.apiserver.kinds.builtin.warnings import warner_of
from attractor.apiserver.kinds.strategy import Decoded, Strategy
from attractor.apply.manager import RESET_STATUS
from attractor.k8s.catalog import go_type
from attractor.objects import names
from attractor.objects.fields import METADATA_ONLY

if TYPE_CHECKING:
    from attractor.apiserver.kinds.builtin.decode import Decode
    from attractor.apply.fieldset import FieldSet
    from attractor.k8s.catalog import ResourceInfo
    from attractor.objects.field import FieldError
    from attractor.objects.json_types import JsonObject

_OWNED_BY_MAIN = ("labels", "annotations", "finalizers", "ownerReferences")
_FINISHED = frozenset(("Failed", "Succeeded"))


class BuiltinStrategy(Strategy):
    """The rules of one built-in kind; stateless, so one serves all requests."""

    def __init__(self, info: ResourceInfo) -> None:
        super().__init__()
        self.info = info
        self._kind = info.gvk.group_kind
        self._key = f"{info.group}/{info.kind}"
        self._default = defaulter(info.gvk)
        self._rules_of_new = validation.rules_of_new(self._kind)
        self._rules_of_change = validation.rules_of_change(self._kind)
        self._warner = warner_of(info.group, info.kind)
        self._name_rule = kind_facts.NAME_RULES.get(self._key, names.dns1123_subdomain)
        self.has_generation = self._key in kind_facts.WITH_GENERATION
        self.counts_changes = self._key == "storage.k8s.io/CSIDriver"
        self.has_status_subresource = "status" in info.subresources
        self.allow_create_on_update = self._key in kind_facts.CREATED_BY_PUT
        self.allow_unconditional_update = self._key not in kind_facts.NEEDS_VERSION
        self.orphans_by_default = self._key in kind_facts.ORPHANS_BY_DEFAULT
        self.warns_of_orphans = kind_facts.ORPHAN_WARNINGS.get(self._key, "")
        self.selectable = kind_facts.SELECTABLE_FIELDS.get(self._key, METADATA_ONLY)
        self._is_secret = self._key == "/Secret"
        self._decode: Decode | None = None
        """Made when it is first needed: types are many, and most of them are never read."""
        self._empty_is_said = kind_facts.EMPTY_IS_SAID.get(self._key, ())
        self._reset_by_main = kind_facts.RESET_FIELDS.get(
            (self._key, ""), RESET_STATUS if self.has_status_subresource else None
        )
        self._drops_status = self.has_status_subresource and self._key not in kind_facts.KEEPS_STATUS_ON_CREATE
        self._prepare_new = preparation.CREATE.get(self._key)
        self._prepare_change = preparation.UPDATE.get(self._key)
        self._canonicalize = preparation.CANONICAL.get(self._key)
        self._is_checked_before_metadata = self._key in kind_facts.METADATA_LAST

    def decode(self, obj: JsonObject) -> Decoded:
        """Read the object as Go does; a secret's ``stringData`` becomes data here."""
        if self._decode is None:
            self._decode = decoder(self.info.definition)
        found = self._decode(obj)
        for path in self._empty_is_said:
            _keep_empty(obj, found.obj, path)
        if self._is_secret:
            _merge_string_data(found.obj)
        return found

    def fitted(self, obj: JsonObject) -> JsonObject | None:
        """The object with numbers cut to what Go's types hold; None if there is none to cut."""
        return fitted(obj, self.info.definition)

    def reset_fields(self, subresource: str) -> FieldSet | None:
        """A status write leaves the spec alone, and as much of metadata as the kind's rules say."""
        if not subresource:
            return self._reset_by_main
        if (self._key, subresource) in kind_facts.RESET_FIELDS:
            return kind_facts.RESET_FIELDS[self._key, subresource]
        if subresource == "finalize":
            return super().reset_fields("")
        if subresource != "status" or self._key in kind_facts.STATUS_KEEPS_METADATA:
            return super().reset_fields(subresource)
        if self._key in kind_facts.STATUS_KEEPS_LABELS:
            return {"f:metadata": {"f:labels": {}}, "f:spec": {}}
        return {"f:spec": {}}

    def default(self, obj: JsonObject) -> None:
        """Fill in what Kubernetes fills in."""
        if self._default is not None:
            self._default(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        """Drop the status, and set what the kind's own preparation sets."""
        if self._drops_status:
            self._set_status(obj, None)
        self._forget_empty(obj)
        if self._prepare_new is not None:
            self._prepare_new(obj)

    def canonicalize(self, obj: JsonObject) -> None:
        """Bring a valid new object into the form in which it is stored."""
        if self._canonicalize is not None:
            self._canonicalize(obj)

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> None:
        """Keep the status on the main resource, and everything but the status on the status subresource."""
        if not subresource:
            self._forget_empty(obj)
            if self.has_status_subresource:
                self._set_status(obj, old)
            if self._prepare_change is not None:
                self._prepare_change(obj, old)
        elif subresource == "status":
            self._prepare_status(obj, old)
        elif subresource == "finalize":
            self._set_status(obj, old)
        elif (self._key, subresource) in subresources.PREPARE:
            subresources.PREPARE[self._key, subresource](obj, old)

    def stamp(self, obj: JsonObject, old: JsonObject, subresource: str, now: str) -> None:
        """A volume tells since when it is in its phase."""
        if subresource == "status" and self._key == "/PersistentVolume":
            preparation.stamp_phase(obj, old, now)

    def _forget_empty(self, obj: JsonObject) -> None:
        for name, *below in self._empty_is_said:
            if not below and obj.get(name) == []:
                obj[name] = None

    def _set_status(self, obj: JsonObject, old: JsonObject | None) -> None:
        field = go_type(self.info.definition).fields.get("status")
        if old is not None and "status" in old:
            obj["status"] = old["status"]
        elif field is not None and not field.is_dropped_when_zero:
            obj["status"] = field.type.zero()
        else:
            obj.pop("status", None)

    def _prepare_status(self, obj: JsonObject, old: JsonObject) -> None:
        for field in (set(obj) | set(old)) - {"apiVersion", "kind", "metadata", "status"}:
            _put_back(obj, old, field)
        if self._key in kind_facts.STATUS_KEEPS_METADATA:
            for field in _OWNED_BY_MAIN:
                _put_back(obj["metadata"], old["metadata"], field)
        elif self._key in kind_facts.STATUS_KEEPS_LABELS:
            _put_back(obj["metadata"], old["metadata"], "labels")
        prepare = preparation.STATUS.get(self._key)
        if prepare is not None:
            prepare(obj, old)

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Why the name is not allowed."""
        return names.as_prefix(self._name_rule, name) if prefix else self._name_rule(name)

    def identity_errors(self, obj: JsonObject) -> list[FieldError]:
        """What is told before metadata is looked at, and alone: for some kinds, all that is wrong with them."""
        return self._rules_of_new(obj) if self._is_checked_before_metadata else []

    def validate(self, obj: JsonObject) -> list[FieldError]:
        """Every rule that a new object breaks."""
        return self._rules_of_new(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
        """Every rule that the change breaks."""
        if not subresource:
            return self._rules_of_change(obj, old)
        if subresource == "status":
            return validation.validate_status(self._kind, obj, old)
        if subresource == "finalize":
            return validate_finalizers(obj)
        if (self._key, subresource) in subresources.PREPARE:
            validate = subresources.VALIDATE.get((self._key, subresource))
            return validate(obj, old) if validate else []
        return self._rules_of_change(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        """What to tell the writer of a valid object."""
        warner = self._warner
        return [] if warner is None else list(warner(obj, old))

    def grace_period_s(self, obj: JsonObject, asked: int | None) -> int:
        """Pods that run somewhere get time to stop; everything else goes at once."""
        if self._key != "/Pod":
            return 0
        spec, phase = obj["spec"], (obj.get("status") or {}).get("phase")
        if not spec.get("nodeName") or phase in _FINISHED:
            return 0
        wanted = asked if asked is not None else spec.get("terminationGracePeriodSeconds") or 0
        return int(wanted) if wanted >= 0 else 1

    def prepare_delete(self, obj: JsonObject, now: str) -> None:
        """A deleted namespace is terminating, for as long as it takes."""
        if self._key == "/Namespace":
            obj["status"] = {**obj["status"], "phase": "Terminating"}
            obj["metadata"].pop("deletionGracePeriodSeconds", None)

    def awaits_finalization(self, obj: JsonObject) -> bool:
        """A namespace waits until its content is finalized."""
        return self._key == "/Namespace" and bool(obj["spec"].get("finalizers"))


def _put_back(obj: JsonObject, old: JsonObject, field: str) -> None:
    if field in old:
        obj[field] = old[field]
    else:
        obj.pop(field, None)


def _keep_empty(given: JsonObject, decoded: JsonObject, path: tuple[str, ...]) -> None:
    """Keep a list that was sent empty until it is stored: it has an owner, or is refused."""
    *steps, name = path
    said: Any = given
    for step in steps:
        if said is None or step not in decoded:
            return
        said, decoded = said.get(step), decoded[step]
    if said and said.get(name) == []:
        decoded[name] = []


def _merge_string_data(secret: JsonObject) -> None:
    texts: dict[str, Any] = secret.pop("stringData", None) or {}
    if texts:
        encoded = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}


@cache
def strategy_for(info: ResourceInfo) -> Strategy:
    """The strategy of a built-in resource; one for each resource, made on first use."""
    return BuiltinStrategy(info)
