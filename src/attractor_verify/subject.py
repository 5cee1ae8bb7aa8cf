"""The subject of a certificate, made anew from the author's source: initial states, steps, predicates and promises."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from attractor_verify.certificate import Rejected, require


class Subject:
    """A specification or a world, by numbers: slots, actions, then predicates."""

    def __init__(self, spec: Any) -> None:
        from attractor.check.errors import Disabled  # what the vocabulary's `require` raises

        self.disabled = Disabled
        self.model = model = spec.compile()
        self.initial = [[model.value(state, ref) for ref in range(len(state))] for state in model.initial]
        self.instances = [*model.actions, *model.predicates]
        self.labels = [each.label for each in self.instances]
        self.actions = len(model.actions)
        self.properties: dict[str, Any] = {each.name: each for each in model.properties}

    def instance(self, predicate: int) -> int:
        """The number of a predicate among all instances."""
        return self.actions + predicate

    def slot(self, ref: int) -> tuple[str, Any]:
        """The name of a slot, and the value that it begins with."""
        slot = self.model.slots[ref]
        return slot.name, slot.domain.values[slot.default]


def unaudited() -> Any:
    """A block in which code is executed once: that it depends on nothing but its answers was audited by the check."""
    from attractor.check.sandbox import second_runs

    return second_runs.unaudited()


def found(header: dict[str, Any], spec: Any = None) -> Subject:
    """The subject of a certificate: ``spec`` (or its name), or what the header names; its source must be the same."""
    if spec is None or isinstance(spec, str):
        spec = _named(spec or header["target"])
    for module, digest in header["sources"]:
        known = sys.modules.get(module)
        if known is None:
            raise Rejected(f"the certificate is about module `{module}` too, which its subject does not use")
        is_same = hashlib.sha256(Path(str(known.__file__)).read_bytes()).hexdigest() == digest
        told = f"this is a certificate of another version of module `{module}` ({known.__file__}); check the source "
        require(is_same, told + "that is here now, and let that write a certificate")
    if header["grown"]:
        from attractor.check.errors import Grown
        from attractor.objects.gvk import Key

        for what, part in header["grown"]:
            spec.grow(Grown(what, (part[0], Key(*part[1])) if what == "keys" else part))
    subject = Subject(spec)
    is_same = subject.labels == header["actions"] + header["predicates"]
    require(is_same, "the steps and predicates of the source are not those of the certificate")
    return subject


def _named(target: str) -> Any:
    """What ``MODULE:NAME`` or ``MODULE:NAME(constant=value, ...)`` means."""
    where, _, said = target.partition(":")
    told = "the certificate does not say what it is about; name it: `attractor-verify FILE MODULE:NAME`"
    require(where and said, told)
    call = ast.parse(said, mode="eval").body
    named, keywords = (call.func, call.keywords) if isinstance(call, ast.Call) else (call, [])
    given: dict[str, Any] = {str(each.arg): ast.literal_eval(each.value) for each in keywords}
    made: Any = getattr(_imported(where), named.id, None) if isinstance(named, ast.Name) else None
    require(made is not None, f"there is no `{said}` in `{where}`, of which this is a certificate")
    return made if hasattr(made, "compile") and not isinstance(made, type) else made(**given)


def _imported(where: str) -> Any:
    path = Path(where)
    sys.path.insert(0, str(path.resolve().parent if where.endswith(".py") else Path.cwd()))
    if not where.endswith(".py"):
        return importlib.import_module(where)
    name = f"{path.stem}_file" if path.stem in sys.stdlib_module_names else path.stem
    made = importlib.util.spec_from_file_location(name, path)
    if made is None or made.loader is None or not path.is_file():
        raise Rejected(f"there is no file {where} here, of which this is a certificate")
    if name not in sys.modules:
        sys.modules[name] = importlib.util.module_from_spec(made)
        made.loader.exec_module(sys.modules[name])
    return sys.modules[name]
