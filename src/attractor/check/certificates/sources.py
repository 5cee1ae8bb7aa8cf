"""Sources of a certificate: the modules that a specification or a world is written in, with their digests."""

from __future__ import annotations

import hashlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

from attractor.check.engine.fingerprints import modules_of, own_files
from attractor.check.spec.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator


def sources_of(spec: Any, target: str) -> list[list[str]]:
    """Module and SHA-256 of each file that the author's code is in."""
    named = sys.modules.get(target.partition(":")[0])
    modules = {*_modules(spec), *([named.__name__] if named else ())}
    files = own_files(modules)
    return [[name, hashlib.sha256(files[name].read_bytes()).hexdigest()] for name in sorted(files)]


def _modules(spec: Any) -> Iterator[str]:
    yield from modules_of(spec)
    if not hasattr(spec, "compose"):
        return
    for one in spec.controllers:
        yield inspect.unwrap(one.reconcile).__module__
    for claim in spec.claims:
        for function in getattr(claim, "predicates", ()) or (getattr(claim, "holds", None),):
            yield getattr(function, "__module__", None) or type(function).__module__
    for model in spec.externals.values():
        yield type(model).__module__
    for kind in spec.kinds:
        yield kind.__module__


def target_of(spec: Any, target: str) -> str:
    """How a verifier finds the specification or world again: ``MODULE:NAME``, with constants where it has some."""
    if not isinstance(spec, Spec):
        return target
    if not target and type(spec).__module__ != "__main__":
        target = f"{type(spec).__module__}:{type(spec).__qualname__}"
    given = ", ".join(f"{name}={value!r}" for name, value in spec.constants.items())
    return f"{target}({given})" if given and target else target
