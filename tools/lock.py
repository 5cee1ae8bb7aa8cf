"""Write ``requirements.lock``: every pinned dependency with the digests of its files, for ``pip --require-hashes``.

    .venv/bin/python tools/lock.py

The versions are those of ``constraints.txt``. The digests are asked from the index that pip is configured to use, which
the file does not name: whatever index serves them, other bytes are refused. Files are those for CPython 3.11 to 3.14 on
Linux; a source distribution is taken only where there is no wheel.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from pip._internal.commands import create_command
from pip._internal.index.collector import parse_links
from pip._internal.models.link import Link

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
PYTHONS = ("cp311", "cp312", "cp313", "cp314")
HEAD = """\
# Written by tools/lock.py from constraints.txt; `make setup` installs it with `pip --require-hashes`.
"""


def pinned() -> dict[str, str]:
    """The versions of ``constraints.txt``, by canonical name."""
    lines = (ROOT / "constraints.txt").read_text().split()
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


def markers() -> dict[str, str]:
    """Where direct dependencies are wanted at all, if not everywhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [Requirement(one) for one in project["dependency-groups"]["dev"]]
    return {canonicalize_name(one.name): str(one.marker) for one in wanted if one.marker is not None}


def is_for_linux(filename: str) -> bool:
    """Whether a wheel can be installed by one of our Pythons on Linux."""
    _, _, _, tags = parse_wheel_filename(filename)
    for tag in tags:
        is_ours = tag.interpreter in {*PYTHONS, "py3", "py2.py3"} or (tag.abi == "abi3" and tag.interpreter <= "cp314")
        is_linux = tag.platform == "any" or re.fullmatch(r"(many|musl)?linux.*_(x86_64|aarch64)", tag.platform)
        if is_ours and is_linux and not tag.abi.endswith("t"):
            return True
    return False


def digests(links: list[Link], name: str, version: str) -> list[str]:
    """The digests of a version's files."""
    wheels, sources = set(), set()
    for link in links:
        filename = link.filename
        try:
            if filename.endswith(".whl"):
                of, found = parse_wheel_filename(filename)[:2]
                if (of, str(found)) == (name, version) and is_for_linux(filename):
                    wheels.add(link.hash)
            elif filename.endswith((".tar.gz", ".zip")):
                source, found = parse_sdist_filename(filename)
                if (source, str(found)) == (name, version):
                    sources.add(link.hash)
        except ValueError:
            continue  # a name from before names had rules
    return sorted(str(one) for one in (wheels or sources) if one)


def collector() -> Any:
    """What fetches pages of the index that pip is configured to use."""
    command: Any = create_command("download")
    options, _ = command.parse_args(["nothing"])
    with command.main_context():
        finder = command._build_package_finder(options=options, session=command.get_default_session(options))  # noqa: SLF001
        return finder._link_collector  # noqa: SLF001 - pip has no other way to ask its index


def main() -> int:
    """Write the file; say what has no file that could be installed."""
    source, where = collector(), markers()
    (index,) = source.search_scope.index_urls
    written, missing = [HEAD], []
    for name, version in sorted(pinned().items()):
        links = list(parse_links(source.fetch_response(Link(f"{index.rstrip('/')}/{name}/"))))
        found = digests(links, name, version)
        if not found:
            missing.append(f"{name}=={version}")
        marker = f" ; {where[name]}" if name in where else ""
        hashes = "".join(f" \\\n    --hash=sha256:{one}" for one in found)
        written.append(f"{name}=={version}{marker}{hashes}\n")
    if missing:
        print(f"error: no file found of {', '.join(missing)}", file=sys.stderr)
        return 1
    LOCK.write_text("".join(written))
    print(f"{LOCK.name}: {len(written) - 1} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
