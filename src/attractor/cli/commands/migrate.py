"""``attractor migrate``: rewrite stored objects in the storage version of their kinds."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attractor.cli.operator.operator_module import HELP, load
from attractor.cli.operator.python_modules import ModuleError

if TYPE_CHECKING:
    import argparse

    from attractor.client import Client
    from attractor.objects.gvk import GroupVersionKind
    from attractor.objects.resource import Resource

_EXAMPLES = """\
examples:
  attractor migrate my_operator.py --kubeconfig ~/.kube/config
      after a change of the storage version: rewrite what is stored in older ones, so that these can be dropped
  attractor migrate my_operator.py --in-cluster --dry-run
      say what there is to do
"""


class Migrated(NamedTuple):
    """Result for one kind."""

    definition: str
    storage: str
    stored: tuple[str, ...]
    """The versions in which objects may have been stored before."""
    rewritten: int


class NotInstalled(Exception):
    """A kind has no CustomResourceDefinition on the server."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor migrate`` takes."""
    parser.description = "Rewrite stored objects of a module's kinds in their storage version."
    parser.epilog = _EXAMPLES
    parser.add_argument("module", metavar="MODULE[:NAME]", help=HELP)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--kubeconfig", type=Path, metavar="PATH", help="on the cluster that a kubeconfig names")
    which.add_argument("--in-cluster", action="store_true", help="on the cluster that this pod runs in")
    parser.add_argument("--context", default="", metavar="NAME", help="the kubeconfig's context (default: its current)")
    parser.add_argument("--dry-run", action="store_true", help="say what there is to do, and do nothing")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Migrate; 0, or 2 when the module, the cluster or a kind cannot be used."""
    from attractor.client import ConfigError
    from attractor.objects.errors import ApiError

    try:
        kinds = load(args.module).kinds
        asyncio.run(_migrate_all(args, kinds))
    except ModuleError as error:
        return _refuse(str(error), error.hint)
    except ConfigError as error:
        return _refuse(str(error), "see `attractor migrate --help`")
    except NotInstalled as error:
        return _refuse(str(error), "apply what `attractor crd` prints first")
    except ApiError as error:
        return _refuse(error.message, "see that the server and its conversion webhook answer; then run it again")
    return 0


def _refuse(message: str, hint: str) -> int:
    print(f"error: {message}\n\nhint: {hint}", file=sys.stderr)
    return 2


async def _migrate_all(args: argparse.Namespace, kinds: list[type[Resource]]) -> None:
    from attractor.client import Client
    from attractor.client.configuration.config import in_cluster_config
    from attractor.client.configuration.kubeconfig import load_kubeconfig

    config = in_cluster_config() if args.in_cluster else load_kubeconfig(args.kubeconfig, context=args.context)
    async with Client.connect(config) as client:
        for kind in {(one.gvk.group, one.gvk.kind): one for one in kinds}.values():
            _tell(await migrate(client, kind, is_dry_run=args.dry_run), is_dry_run=args.dry_run)


def _tell(done: Migrated, *, is_dry_run: bool) -> None:
    if done.stored == (done.storage,):
        print(f"{done.definition}: all objects are stored as {done.storage}")
    elif is_dry_run:
        print(f"{done.definition}: objects are stored as {', '.join(done.stored)}, to be rewritten as {done.storage}")
    else:
        print(
            f"{done.definition}: {done.rewritten} objects rewritten as {done.storage}; nothing else is stored any more"
        )


async def migrate(client: Client, kind: type[Resource], *, is_dry_run: bool = False) -> Migrated:
    """Write every object of a kind once more, as it is, then say that only the storage version is stored.

    It may be stopped and begun again at any time. Raises ``NotInstalled`` and ``ApiError``.
    """
    from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
    from attractor.objects.errors import NotFound
    from attractor.objects.gvk import Key

    name = f"{kind.resource_info.resource}.{kind.gvk.group}"
    try:
        definition = (await client.get(CustomResourceDefinition, Key("", name))).to_dict()
    except NotFound:
        raise NotInstalled(f"there is no CustomResourceDefinition {name}") from None
    storage: str = next(one["name"] for one in definition["spec"]["versions"] if one.get("storage"))
    stored = tuple(definition["status"].get("storedVersions") or ())
    if stored == (storage,) or is_dry_run:
        return Migrated(name, storage, stored, 0)
    count = await _rewrite(client, kind.gvk._replace(version=storage))
    await client.patch(
        CustomResourceDefinition, Key("", name), {"status": {"storedVersions": [storage]}}, subresource="status"
    )
    return Migrated(name, storage, stored, count)


async def _rewrite(client: Client, gvk: GroupVersionKind) -> int:
    """Update every object without a change; what somebody else wrote or deleted meanwhile needs it no more."""
    from attractor.objects.errors import Conflict, NotFound

    count = 0
    for obj in await client.list(gvk):
        try:
            await client.update(obj)
            count += 1
        except (Conflict, NotFound):
            continue
    return count
