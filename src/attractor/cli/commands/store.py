"""``attractor store``: look after the file of a SQLite store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.parser import add_part
from attractor.cli.terminal import UsageError, complain

if TYPE_CHECKING:
    import argparse

    from attractor.store.sqlite.care import Repaired, Whole

_EXAMPLES = """\
examples:
  attractor store verify cluster.db
      is everything there that was acknowledged, and as it was written? (the server must not run)
  attractor store backup cluster.db backups/monday.db
      a copy at one revision, while the server runs
  attractor store restore backups/monday.db cluster.db --revision 4711
      put it in place of the store, as it was at revision 4711
  attractor store repair cluster.db
      keep what is whole of a damaged store; the damaged files are moved aside
"""
_SHOWN = 20
"""Of what was damaged, so much is listed."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor store`` takes."""
    parser.description = "Look after the file of a SQLite store."
    parser.epilog = _EXAMPLES
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    checks = "Check every row, and that nothing acknowledged is missing; changes nothing"
    verify = add_part(actions, "verify", checks, "attractor store verify cluster.db")
    verify.add_argument("path", type=_file, metavar="PATH", help="the store: PATH or sqlite:PATH")
    keeps = "Keep what is whole of a damaged store; the damaged files are moved aside"
    repair = add_part(actions, "repair", keeps, "attractor store repair cluster.db")
    repair.add_argument("path", type=_file, metavar="PATH", help="the store: PATH or sqlite:PATH")
    copies = "Copy a store at one revision, while a server runs or not"
    backup = add_part(actions, "backup", copies, "attractor store backup cluster.db backups/monday.db")
    backup.add_argument("path", type=_file, metavar="PATH", help="the store: PATH or sqlite:PATH")
    backup.add_argument("target", type=_file, metavar="BACKUP", help="the file to make; it must not be there yet")
    puts = "Put a backup in place of a store; what was there is moved aside"
    restore = add_part(actions, "restore", puts, "attractor store restore backups/monday.db cluster.db --revision 4711")
    restore.add_argument("source", type=_file, metavar="BACKUP", help="what `backup` has made")
    restore.add_argument("path", type=_file, metavar="PATH", help="the store: PATH or sqlite:PATH")
    restore.add_argument("--revision", type=int, metavar="N", help="the state at this revision (default: the newest)")
    for action, run in ((verify, _verify), (repair, _repair), (backup, _backup), (restore, _restore)):
        action.set_defaults(run=_guarded, does=run)


def _file(text: str) -> Path:
    for engine in ("memory", "etcd:"):
        if text.startswith(engine) and (text == engine or engine.endswith(":")):
            raise UsageError(f"`{text}` is not a file", "etcd has tools of its own: `etcdctl snapshot save`, `etcdutl`")
    return Path(text.removeprefix("sqlite:"))


def _guarded(args: argparse.Namespace) -> int:
    """Run one action; 0 when all is well, 1 when the store is damaged or cannot be read."""
    from attractor.store.contract import StoreError

    try:
        return int(args.does(args))
    except StoreError as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"{error.filename or args.path}: {error.strerror}")
        return 1


def _verify(args: argparse.Namespace) -> int:
    from attractor.store.sqlite.care import verify

    _say(f"{args.path}: whole", verify(args.path))
    return 0


def _backup(args: argparse.Namespace) -> int:
    from attractor.store.sqlite.care import backup

    _say(f"{args.target}: a verified copy of {args.path}", backup(args.path, args.target))
    return 0


def _say(what: str, found: Whole) -> None:
    print(f"{what}; {found.entries} entries at revision {found.revision}, history from revision {found.compacted}")


def _repair(args: argparse.Namespace) -> int:
    from attractor.store.sqlite.care import repair

    done = repair(args.path)
    for line in done.damaged[:_SHOWN]:
        print(f"lost: {line}", file=sys.stderr)
    if len(done.damaged) > _SHOWN:
        print(f"lost: {len(done.damaged) - _SHOWN} more", file=sys.stderr)
    if done.acknowledged is None:
        print("lost: nobody knows whether there were newer writes; the mark could not be read", file=sys.stderr)
    elif done.acknowledged > done.revision:
        print(f"lost: the writes of revisions {done.revision + 1} to {done.acknowledged}", file=sys.stderr)
    _say_replaced(args.path, done)
    return 0


def _restore(args: argparse.Namespace) -> int:
    from attractor.store.sqlite.care import restore

    _say_replaced(args.path, restore(args.source, args.path, revision=args.revision))
    return 0


def _say_replaced(path: Path, done: Repaired) -> None:
    print(f"{path}: {done.entries} entries as of revision {done.revision}; revisions go on after {done.begins_at}")
    if done.kept is not None:
        print(f"{done.kept}: what was there before")
