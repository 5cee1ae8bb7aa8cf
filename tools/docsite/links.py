"""Links that lead out of ``docs``: on the site they lead to pages made from the file that they name.

In the repository every link is relative and works on a plain file host. The site has the pages of ``docs`` only, so the
documents at the top get a page each, and so does every source file that some page links to.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "README.md": "README.md",
}
"""Documents at the top of the repository, and the page that each one is on the site."""

LINK = re.compile(r"(?P<head>!?\[[^\]]*\]\()(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>```+|~~~+).*?^(?P=indent)(?P=marks)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LANGUAGES = {".py": "python", ".pyi": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


def prose(text: str) -> str:
    """The text with code blanked, so that places stay and nothing inside code looks like a link."""
    return _FENCE.sub(lambda found: " " * len(found[0]), text)


def is_relative(target: str) -> bool:
    """Whether a link leads to a file of the repository."""
    return re.match(r"[a-z]+:|/|#", target) is None


@dataclass(slots=True)
class Links:
    """Rewrites links, and remembers which files need a page."""

    sources: set[Path] = field(default_factory=set)

    def page_of(self, target: Path) -> str | None:
        """Where a file of the repository is on the site; None when there is no such file."""
        if target.is_relative_to(ROOT / "docs"):
            return str(target.relative_to(ROOT / "docs"))
        if not target.is_relative_to(ROOT) or not target.exists():
            return None
        inside = str(target.relative_to(ROOT))
        if inside in DOCUMENTS:
            return DOCUMENTS[inside]
        self.sources.add(target)
        return source_name(target)

    def rewritten(self, text: str, origin: Path, page: str) -> str:
        """A document's text as the page ``page`` of the site; ``origin`` is the file that links are relative to."""
        plain, pieces, end = prose(text), [], 0
        for found in LINK.finditer(plain):
            target = (origin.parent / found["path"]).resolve()
            if not is_relative(found["path"]) or (where := self.page_of(target)) is None:
                continue
            there = os.path.relpath(where, os.path.dirname(page) or ".")
            pieces += [text[end : found.start("path")], there]
            end = found.end("path")
        return "".join(pieces) + text[end:]


def source_name(path: Path) -> str:
    """The page of a file or folder that is linked to."""
    return f"source/{path.relative_to(ROOT)}{'/index' if path.is_dir() else ''}.md"


def source_page(path: Path) -> str:
    """A file of the repository as a page; a folder lists its files."""
    name = path.relative_to(ROOT)
    front = "---\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"
    if path.is_dir():
        rows = [f"| [`{one.name}`]({one.name}.md) | {summary(one)} |" for one in files_of(path)]
        return f"{front}# `{name}`\n\n| file | what it shows |\n|---|---|\n" + "\n".join(rows) + "\n"
    text = path.read_text()
    return f"{front}# `{name}`\n\n````{_LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n````\n"


def files_of(folder: Path) -> list[Path]:
    """The files of a folder that are worth a page."""
    return sorted(one for one in folder.iterdir() if one.suffix in _LANGUAGES and not one.name.startswith("_"))


def summary(path: Path) -> str:
    """The first line of a Python file's docstring, or of a comment at the top of another."""
    found = re.match(r'(?:#!.*\n)?(?:"""|# ?)(.+?)(?:"""|\n)', path.read_text())
    return found[1].strip() if found else ""
