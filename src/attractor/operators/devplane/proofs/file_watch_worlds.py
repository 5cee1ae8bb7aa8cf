"""An Executable is restarted for changes of its files that come to rest, and for nothing else: world ``changing``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check import Bounds, Edit, Faults, World, WorldState, always_step, eventually_stable, happens, sometimes
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import Executable, ExecutableSpec, Watch
from attractor.operators.devplane.controllers.file_watches import WATCHED, file_watches
from attractor.operators.devplane.drivers.files import Files

if TYPE_CHECKING:
    from attractor.operators.devplane.drivers.files import FileSet

KEY = Key("default", "web")


class FilesModel:
    """Files that somebody changes twice."""

    def __init__(self) -> None:
        self.version = 0

    def digest(self, files: FileSet) -> str:
        """The version of the files."""
        return f"v{self.version}"

    @happens(times=2)
    def file_is_saved(self) -> None:
        """At any moment."""
        self.version += 1


def watched() -> Executable:
    """An Executable with files."""
    spec = ExecutableSpec(command=["serve"], watch=Watch(paths=["src"]))
    return Executable(metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace), spec=spec)


def heeds_the_files(look: WorldState) -> bool:
    """The process is started for the files as they are."""
    found = look.find(Executable, KEY)
    return found is not None and found.metadata.annotations.get(WATCHED) == f"v{look.external(Files).version}"


def restarts_have_a_reason(before: WorldState, after: WorldState) -> bool:
    """Files are a reason to restart only when they are others than those that it was started for."""
    old, new = before.find(Executable, KEY), after.find(Executable, KEY)
    if old is None or new is None or new.spec.restart in {old.spec.restart, "by hand"}:
        return True
    was, now = old.metadata.annotations.get(WATCHED), new.metadata.annotations.get(WATCHED)
    return was is not None and was != now and new.spec.restart == f"files-{now}"


def changing() -> World:
    """Files are saved twice, while a user restarts by hand; with a crash, a lost answer, and a cache that lags."""
    return World(
        controllers=[file_watches],
        objects=[watched()],
        users=[Edit(Executable, KEY, spec=[{"restart": "by hand"}])],
        faults=Faults(crash=1, lost_answer=1, stale_list=1),
        properties=[
            eventually_stable(heeds_the_files),
            always_step(restarts_have_a_reason),
            sometimes(lambda look: _word(look) == "files-v2", name="it is restarted for the second change"),
        ],
        externals={Files: FilesModel()},
        name="devplane file watches",
        workers=1,
        bounds=Bounds(lag=2),
    )


def _word(look: WorldState) -> str:
    found = look.find(Executable, KEY)
    return "" if found is None else found.spec.restart


WORLDS = (changing,)
