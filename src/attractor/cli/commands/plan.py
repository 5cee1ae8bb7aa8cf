"""``attractor plan``: what an operator would do for an object, without doing it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.operator.python_modules import imported
from attractor.cli.terminal import USAGE, UsageError, complain, is_coloured

if TYPE_CHECKING:
    import argparse
    from types import ModuleType

    from attractor.objects.resource import Resource

DEFAULT = "attractor.operators.dbcluster.controllers.dry_run"
_EXAMPLES = """\
examples:
  attractor plan cluster.yaml --kubeconfig ~/.kube/config
      show what the database operator would create, change and delete for this Cluster
  attractor plan widget.yaml --planner my.operator.dryrun --kubeconfig ~/.kube/config
      the same for an operator of your own: a module with `kind` and `async def plan_for(client, obj)`
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor plan`` takes."""
    parser.description = (
        "Read an object from a file and what is there from a cluster, and print the plan. It only reads."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("file", type=Path, metavar="FILE", help="the object, as YAML")
    parser.add_argument("--kubeconfig", type=Path, required=True, metavar="PATH", help="the cluster to look at")
    parser.add_argument("--context", default="", metavar="NAME", help="the kubeconfig's context (default: its current)")
    parser.add_argument("--planner", default=DEFAULT, metavar="MODULE", help=f"who plans (default: {DEFAULT})")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the plan; 0 when there is one, 1 when the object cannot be planned, 2 when it cannot be read."""
    from attractor.client import ConfigError
    from attractor.objects.errors import ApiError
    from attractor.plan import Refused

    try:
        planner = _planner(args.planner)
        obj = _read(planner, args.file)
        print(asyncio.run(_plan(planner, obj, args)))
    except UsageError as error:
        complain(str(error), error.hint)
        return USAGE
    except ConfigError as error:
        complain(str(error), "name a kubeconfig with --kubeconfig")
        return USAGE
    except (Refused, ApiError) as error:
        complain(str(error), "change the object, and plan again")
        return 1
    return 0


def _planner(name: str) -> ModuleType:
    module = imported(name)
    if not hasattr(module, "kind") or not hasattr(module, "plan_for"):
        raise UsageError(f"{name} plans nothing", "it needs `kind` and `async def plan_for(client, obj)`")
    return module


def _read(planner: ModuleType, path: Path) -> Resource:
    from attractor.objects.resource import DecodeError

    try:
        obj: Resource = planner.kind.from_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, DecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", f"it should hold one {planner.kind.gvk}") from error
    obj.metadata.namespace = obj.metadata.namespace or "default"
    return obj


async def _plan(planner: ModuleType, obj: Resource, args: argparse.Namespace) -> str:
    from attractor.client import Client
    from attractor.client.configuration.kubeconfig import load_kubeconfig
    from attractor.client.http.transport import HttpTransport
    from attractor.plan import report

    config = load_kubeconfig(args.kubeconfig, context=args.context)
    async with Client(HttpTransport(config)) as client:
        return report(await planner.plan_for(client, obj), colour=is_coloured(sys.stdout))
