"""``MODULE[:NAME]`` on the command line: where a person's controllers are."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.objects.resource import Resource
from attractor.runtime.controller import BuilderError, Controller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import ModuleType

HELP = "a module or a file, such as my.operator or operator.py, and a controller in it, such as operator.py:pairs"


class ModuleError(Exception):
    """The module cannot be used; the text says why, ``hint`` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class OperatorModule:
    """What a module offers."""

    name: str
    """The module's last name, fit for a Kubernetes name."""
    spelled: str
    module: ModuleType
    controllers: tuple[Controller, ...]
    externals: Mapping[Any, object]
    """Outside systems: the module's attribute ``externals``, a dict by protocol class; see ``opened``."""

    @property
    def kinds(self) -> list[type[Resource]]:
        """The custom kinds that the module's controllers use, and those that it defines itself."""
        used = [kind for one in self.controllers for kind in one.kinds]
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
    try:
        module = _import(path)
    except BuilderError as error:
        raise ModuleError(str(error), f"fix the declaration in {path}") from error
    externals = getattr(module, "externals", {})
    if not isinstance(externals, dict):
        raise ModuleError(f"{path}: `externals` is no dict", "write externals = {Protocol: implementation}")
    found = _named(module, path, name) if name else _all(module)
    label = Path(path).stem if path.endswith(".py") else path.rpartition(".")[2]
    return OperatorModule(label.replace("_", "-").lower(), spelled, module, found, externals)


def _import(path: str) -> ModuleType:
    if not path.endswith(".py"):
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name is not None and (path == error.name or path.startswith(f"{error.name}.")):
                raise ModuleError(f"there is no module {path!r}", "give a module on the path, or a .py file") from error
            raise
    file = Path(path)
    if not file.is_file():
        raise ModuleError(f"there is no file {path}", "give a module on the path, or a .py file")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # msgspec resolves annotations through it
    spec.loader.exec_module(module)
    return module


def _all(module: ModuleType) -> tuple[Controller, ...]:
    return tuple(dict.fromkeys(value for value in vars(module).values() if isinstance(value, Controller)))


def _named(module: ModuleType, path: str, name: str) -> tuple[Controller, ...]:
    value: Any = getattr(module, name, None)
    if value is None:
        known = ", ".join(key for key, one in vars(module).items() if isinstance(one, Controller)) or "none"
        raise ModuleError(f"{path} has no {name!r}", f"name one of its controllers (there are: {known})")
    if callable(value) and not isinstance(value, Controller):
        value = value()
    found = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not found or not all(isinstance(one, Controller) for one in found):
        raise ModuleError(
            f"{path}:{name} is no controller", "name a Controller, a list of them, or a function that makes them"
        )
    return found


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


def need_controllers(loaded: OperatorModule) -> None:
    """Raise ``ModuleError`` when there is nothing to run."""
    if not loaded.controllers:
        raise ModuleError(
            f"{loaded.spelled} declares no controller",
            "declare one with @controller(for_=...), see `attractor run --help`",
        )
