"""Hooks of ``mkdocs.yml``: generated pages, navigation, links out of ``docs``, pictures for light and dark."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from mkdocs.structure.files import File, Files, InclusionLevel  # noqa: E402

from tools.docsite import api, commands, kinds, links, navigation  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks.docsite")
_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<path>[^)\s]+/)?(?P<name>[\w-]+)\.(?P<suffix>png|svg)\)")
_WORD = re.compile(r"(?<!>)<code>([A-Za-z_]\w*)</code>(?!</a>)")
START = "---\ntitle: Attractor\nhide: [navigation, toc]\n---\n\n"
"""The start page has the whole width; in the repository it is a README, where this would be shown."""

_DARK = "@media (prefers-color-scheme: dark)"


def parsers() -> list[Any]:
    """The programs that are installed: each one's parser, the subcommands of ``attractor`` one by one."""
    from attractor.cli.main import build_parser
    from attractor_verify.main import build_parser as build_verifier

    return [*commands.subcommands(build_parser()).values(), build_verifier()]


def generated() -> dict[str, str]:
    """Pages of the reference that are written when the site is built."""
    made = {"reference/api/index.md": api.index(), "reference/commands/index.md": commands.index(parsers())}
    made |= {f"reference/api/{page.name}.md": api.text(page) for page in api.pages()}
    made |= {
        f"reference/commands/{parser.prog.removeprefix('attractor ')}.md": commands.page(parser) for parser in parsers()
    }
    made |= {"reference/kinds/index.md": kinds.index()}
    return made | {f"reference/kinds/{module}.md": kinds.page(module) for module in kinds.modules()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read the navigation from the index."""
    index = navigation.rooms((ROOT / "docs/README.md").read_text())
    python = [
        {"Public names": "reference/api/index.md"},
        *({page.title: f"reference/api/{page.name}.md"} for page in api.pages()),
    ]
    programs = [parser.prog.removeprefix("attractor ") for parser in parsers()]
    command = [
        {"All commands": "reference/commands/index.md"},
        *({name: f"reference/commands/{name}.md"} for name in programs),
    ]
    kind = [
        {"All kinds": "reference/kinds/index.md"},
        *({name: f"reference/kinds/{name}.md"} for name in kinds.modules()),
    ]
    reference = [{"Python": python}, {"Commands": command}, {"Built-in kinds": kind}, *index.pop("Reference")]
    project = [
        {navigation.title_of(ROOT / name): page} for name, page in links.DOCUMENTS.items() if page != "README.md"
    ]
    config.nav = [
        {"Start": "README.md"},
        *({room: pages} for room, pages in index.items()),
        {"Reference": reference},
        {"Decisions": navigation.decisions(ROOT / "docs/adr")},
        {"Project": project},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add generated pages, the documents at the top, and a page for each source file that is linked."""
    found = links.Links()
    for name, text in generated().items():
        files.append(File.generated(config, name, content=text))
    for name, page in links.DOCUMENTS.items():
        if page != "README.md":
            text = found.rewritten((ROOT / name).read_text(), ROOT / name, page)
            files.append(File.generated(config, page, content=text))
    for file in files.documentation_pages():
        if file.abs_src_path is not None:
            origin = Path(file.abs_src_path)
            text = found.rewritten(origin.read_text(), origin, file.src_uri)
            file.content_string = START + two_schemes(text) if file.src_uri == "README.md" else two_schemes(text)
    for path in [*found.sources]:
        found.sources |= set(links.files_of(path)) if path.is_dir() else set()
    for path in sorted(found.sources):
        page = File.generated(config, links.source_name(path), content=links.source_page(path))
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    _add_dark_drawings(files, config)
    return files


def two_schemes(text: str) -> str:
    """Show a picture that has a version for dark pages in the one that fits the page."""

    def both(found: re.Match[str]) -> str:
        folder, name, suffix = found["path"] or "", found["name"], found["suffix"]
        if suffix == "png" and not (ROOT / f"docs/pictures/{name}-dark.png").exists():
            return found[0]
        light, dark = f"{name}.{suffix}", f"{name}-dark.{suffix}"
        return f"![{found['text']}]({folder}{light}#only-light)![{found['text']}]({folder}{dark}#only-dark)"

    return _PICTURE.sub(both, text)


def _add_dark_drawings(files: Files, config: MkDocsConfig) -> None:
    """Split drawings that ask for the reader's scheme into one for each, since the site has a switch of its own."""
    for path in sorted((ROOT / "docs/pictures").glob("*.svg")):
        text = path.read_text()
        old = files.get_file_from_path(f"pictures/{path.name}")
        if _DARK in text and old is not None:
            files.remove(old)
            files.append(File.generated(config, f"pictures/{path.name}", content=text.replace(_DARK, "@media not all")))
            dark = text.replace(_DARK, "@media all")
            files.append(File.generated(config, f"pictures/{path.stem}-dark.svg", content=dark))


def on_page_content(html: str, page: Page, **_others: object) -> str:
    """In the reference of Python names, lead from each name in a text to its description."""
    if not page.file.src_uri.startswith("reference/api/"):
        return html
    known = api.addresses()

    def led(found: re.Match[str]) -> str:
        where = known.get(found[1])
        return found[0] if where is None else f'<a href="{api.relative(where, page.file.dest_uri)}">{found[0]}</a>'

    parts = re.split(r"(<pre.*?</pre>|<h\d.*?</h\d>)", html, flags=re.DOTALL)
    return "".join(part if index % 2 else _WORD.sub(led, part) for index, part in enumerate(parts))
