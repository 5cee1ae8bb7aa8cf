"""``Recording``: a recorded run, read back; each question knows its answer, and what concerns nobody is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from attractor.testing.recording.recorder import FORMAT, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable


class BadRecording(ValueError):
    """A file is no recording, or one that this version cannot read; the text says what is wrong and what to do."""


@dataclass(frozen=True)
class Question:
    """What a reconcile asked, and what came of it; ``is_answered`` unless the recording ends before."""

    number: int
    controller: str
    key: str
    effect: str
    text: str
    requests: tuple[dict[str, Any], ...] = ()
    value: Any = None
    error: str | None = None
    is_answered: bool = False


@dataclass(frozen=True)
class Happening:
    """One line: ``list``, ``deliver``, ``begin``, ``end``, ``ask``, ``answer``."""

    line: int
    what: str
    data: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        given = self.data
        match self.what:
            case "list":
                return f"{given['resource']} were listed: {len(given['answer'].get('items') or ())} objects"
            case "deliver":
                meta = given["object"].get("metadata", {})
                return f"the cache was told {given['type']} {given['resource']} {meta.get('name')}"
            case "ask":
                return f"{given['controller']} {given['key']} asked: {given['text']}"
            case "begin":
                return f"{given['controller']} began with {given['key']}"
            case "end":
                how = f"with {given['error']}" if given["error"] else "in good order"
                return f"{given['controller']} ended with {given['key']}, {how}"
            case _:
                return self.what


@dataclass(frozen=True)
class Recording:
    """A run: what happened, in order, and the questions by number."""

    happenings: tuple[Happening, ...]
    questions: dict[int, Question]
    is_cut: bool
    """Whether the recording stops before the run did."""

    @classmethod
    def read(cls, lines: Iterable[bytes]) -> Recording:
        """A recording from the lines of its file; raises ``BadRecording``."""
        entries = _entries(lines)
        if not entries or entries[0].get("format") != FORMAT:
            raise BadRecording("this is no recording; `attractor run MODULE --record FILE` writes one")
        if entries[0].get("version") != VERSION:
            raise BadRecording(
                f"this recording has version {entries[0].get('version')!r}, and only version {VERSION} can be read "
                "here; record again with this version of attractor"
            )
        try:
            return _read(entries[1:])
        except (KeyError, TypeError, AttributeError) as problem:
            raise BadRecording(f"this recording is damaged: {problem!r}; record again") from None


def _entries(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            if line.endswith(b"\n"):
                raise BadRecording(f"line {number} is not JSON; is this a recording?") from None
            break  # the run was killed while it wrote its last line
        if not isinstance(entry, dict):
            raise BadRecording(f"line {number} is no JSON object; is this a recording?")
        found.append(entry)
    return found


def _read(entries: list[dict[str, Any]]) -> Recording:
    questions: dict[int, Question] = {}
    happenings: list[Happening] = []
    requests: dict[int, list[dict[str, Any]]] = {}
    is_cut = False
    for line, entry in enumerate(entries, 2):
        match entry["what"]:
            case "ask":
                number = entry["question"]
                questions[number] = Question(number, entry["controller"], entry["key"], entry["effect"], entry["text"])
            case "request":
                requests.setdefault(entry["question"], []).append(entry)
                continue
            case "answer":
                asked = questions[entry["question"]]
                questions[asked.number] = Question(
                    asked.number,
                    asked.controller,
                    asked.key,
                    asked.effect,
                    asked.text,
                    tuple(requests.get(asked.number, ())),
                    entry["value"],
                    entry["error"],
                    True,
                )
            case "limit reached":
                is_cut = True
                break
        happenings.append(Happening(line, entry["what"], entry))
    return Recording(tuple(happenings), questions, is_cut)
