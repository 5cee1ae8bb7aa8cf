"""Commands and demonstrations by name, known without importing any of them.

Attractor's own are in a table here, those of its operators in the table ``attractor.operators.commands``, so that both
work from a checkout. A package of anybody else's adds its own with an entry point, in its ``pyproject.toml``:

    [project.entry-points."attractor.commands"]
    fleet = "fleet_operator.cli:configure"

    [project.entry-points."attractor.demos"]
    fleet = "fleet_operator.demo:configure"

``configure(parser)`` is given the command's ``argparse.ArgumentParser``: it adds arguments, and sets ``run``, a
function from the parsed arguments to the exit code, with ``parser.set_defaults(run=...)``. The names that Attractor has
stay its own.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.cli.terminal import UsageError

if TYPE_CHECKING:
    import argparse
    from importlib.metadata import EntryPoint

OPERATORS = "attractor.operators.commands"
"""The table of the operators that come with Attractor. It is imported by its name: operators stand on this package."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line, or a demonstration."""

    name: str
    help: str
    """One line, for the list of commands."""
    target: str
    """``MODULE:FUNCTION``, the function that configures its parser."""
    package: str = ""
    """Whose it is, if not ours."""
    is_service: bool = False
    """Whether it runs until it is told to stop: then its flags may come from the environment and a file."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Import it, and let it say what it takes; raises ``UsageError`` where another's package cannot be loaded."""
        try:
            found = pkgutil.resolve_name(self.target)
        except (ImportError, AttributeError) as problem:
            if not self.package:
                raise
            raise UsageError(
                f"`{self.name}` of the package {self.package} cannot be loaded: {problem}",
                f"mend or uninstall it: its entry point names {self.target}",
            ) from problem
        found(parser)


COMMANDS = (
    Command("demo", "Run a demonstration", "attractor.cli.commands.demo:configure"),
    Command("run", "Run the controllers of a module", "attractor.cli.commands.run:configure", is_service=True),
    Command("serve", "Serve a Kubernetes API", "attractor.cli.commands.serve:configure", is_service=True),
    Command("envtest", "Print a directory for KUBEBUILDER_ASSETS", "attractor.cli.commands.envtest:configure"),
    Command("store", "Verify, repair, back up and restore a SQLite store", "attractor.cli.commands.store:configure"),
    Command("crd", "Print a module's CustomResourceDefinitions", "attractor.cli.commands.manifests:configure_crd"),
    Command("manifests", "Print what controllers need in a cluster", "attractor.cli.commands.manifests:configure"),
    Command("migrate", "Rewrite stored objects in their storage version", "attractor.cli.commands.migrate:configure"),
    Command("plan", "Show what an operator would do, without doing it", "attractor.cli.commands.plan:configure"),
    Command("check", "Check a specification or a world", "attractor.cli.commands.check:configure"),
    Command("replay", "Print a counterexample, draw it, or run it", "attractor.cli.commands.replay:configure"),
    Command("trace-to-test", "Turn a counterexample into a test", "attractor.cli.commands.trace_to_test:configure"),
    Command("tla", "Write a specification as TLA+", "attractor.cli.commands.tla:configure"),
)
"""In the order in which ``attractor --help`` lists them."""

DEMOS = (
    Command(
        "server",
        "A Kubernetes API in this process: a kind, its rules, watches, garbage collection",
        "attractor.cli.commands.demo_server:configure",
    ),
)


def own_commands() -> tuple[Command, ...]:
    """List the commands that come with Attractor."""
    return (*COMMANDS, *importlib.import_module(OPERATORS).COMMANDS)


def own_demos() -> tuple[Command, ...]:
    """List the demonstrations that come with Attractor; the first is the one that ``attractor demo`` runs."""
    first, *others = importlib.import_module(OPERATORS).DEMOS
    return (first, *DEMOS, *others)


def installed_commands() -> tuple[Command, ...]:
    """List the commands of other packages that are installed."""
    return _installed("attractor.commands", own_commands())


def installed_demos() -> tuple[Command, ...]:
    """List the demonstrations of other packages that are installed."""
    return _installed("attractor.demos", own_demos())


def _installed(group: str, own: tuple[Command, ...]) -> tuple[Command, ...]:
    from importlib.metadata import entry_points  # it reads the metadata of everything that is installed

    taken = {each.name for each in own}
    found = {each.name: _of(each) for each in entry_points(group=group) if each.name not in taken}
    return tuple(found[name] for name in sorted(found))


def _of(entry: EntryPoint) -> Command:
    package = entry.dist.name if entry.dist is not None else entry.module
    summary = (entry.dist.metadata["Summary"] or "").strip() if entry.dist is not None else ""
    return Command(entry.name, f"{summary} ({package})" if summary else f"Of {package}", entry.value, package)
