"""``Recording``: recorded processes, read back; each question knows its answer, and what concerns nobody is left out.

A file is one place of a process: started again, it goes on with the same file, and the new start is a happening. Files
of several processes are put together by the times at which their lines were written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import orjson

from attractor.testing.recording.recorder import FORMAT, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class BadRecording(ValueError):
    """A file is no recording, or one that this version cannot read; the text says what is wrong and what to do."""


@dataclass(frozen=True)
class Part:
    """One thing that was asked for, and what came of it."""

    effect: str
    text: str
    value: Any = None
    error: str | None = None


@dataclass(frozen=True)
class Question:
    """A question of a reconcile, and its answer; ``is_answered`` unless the recording ends before."""

    number: int
    """Among all questions of all processes."""
    process: int
    controller: str
    key: str
    effect: str
    text: str
    requests: tuple[dict[str, Any], ...] = ()
    value: Any = None
    error: str | None = None
    is_answered: bool = False
    work: int = 0
    """The number of the background work that asks, among those of its process; 0 for a reconcile."""
    parts: tuple[Part, ...] = ()
    """What was asked for together, and what came of each."""

    @property
    def asked(self) -> tuple[Part, ...]:
        """Return the effects that were asked for: one, or several together."""
        return self.parts or (Part(self.effect, self.text, self.value, self.error),)


@dataclass(frozen=True)
class Happening:
    """One line: ``list``, ``deliver``, ``begin``, ``work``, ``end``, ``ask``, ``answer``, ``restart``."""

    line: int
    what: str
    data: dict[str, Any] = field(repr=False)
    process: int = 0
    question: int = 0
    """The number of the question that is asked or answered, among all questions of all processes."""

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
            case "work":
                return f"{given['controller']} began background work for {given['key']}"
            case "end":
                how = f"with {given['error']}" if given["error"] else "in good order"
                return f"{given['controller']} ended with {given['key']}, {how}"
            case "move":
                return f"{given['action']} {given['arguments']}"
            case "restart":
                return "the process was started again"
            case _:
                return self.what


@dataclass(frozen=True)
class Recording:
    """A run: what happened in all its processes, in order, and the questions by number."""

    happenings: tuple[Happening, ...]
    questions: dict[int, Question]
    is_cut: bool
    """Whether the recording stops before the run did."""

    processes: int = 1

    @classmethod
    def read(cls, *files: Iterable[bytes]) -> Recording:
        """A recording from the lines of its files, one for each process; raises ``BadRecording``."""
        numbers = count(1)
        try:
            parts = [_Reading(process, numbers).read(_entries(lines)) for process, lines in enumerate(files)]
        except (KeyError, TypeError, AttributeError) as problem:
            raise BadRecording(f"this recording is damaged: {problem!r}; record again") from None
        if len(parts) == 1:
            return parts[0]
        return cls(
            tuple(_in_order(parts)),
            {number: asked for part in parts for number, asked in part.questions.items()},
            any(part.is_cut for part in parts),
            len(parts),
        )


def _in_order(parts: list[Recording]) -> Iterator[Happening]:
    """Return the happenings of all processes, by time, up to the end of the first recording that was cut."""
    found = [each for part in parts for each in part.happenings]
    if any("at" not in each.data for each in found):
        raise BadRecording("one of these recordings has no times, so they cannot be put together; record again")
    cut = [part.happenings[-1].data["at"] for part in parts if part.is_cut and part.happenings]
    for each in sorted(found, key=lambda each: each.data["at"]):
        if cut and each.data["at"] > min(cut):
            return
        yield each


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


class _Reading:
    """The lines of one file as happenings and questions."""

    def __init__(self, process: int, numbers: count[int]) -> None:
        self._process, self._numbers = process, numbers
        self._questions: dict[int, Question] = {}
        self._asked: dict[int, int] = {}
        """The numbers of the questions since the last start, by the number that is written in the file."""

    def read(self, entries: list[dict[str, Any]]) -> Recording:
        """All of it, up to the limit."""
        if not entries or not _is_start(entries[0]):
            raise BadRecording("this is no recording; `attractor run MODULE --record FILE` writes one")
        happenings: list[Happening] = []
        for line, entry in enumerate(entries, 1):
            if _is_start(entry):
                _check_version(entry)
                self._asked.clear()
                if line > 1:
                    happenings.append(Happening(line, "restart", entry, self._process))
            elif entry["what"] == "limit reached":
                return Recording(tuple(happenings), self._questions, is_cut=True)
            elif entry["what"] == "unmoved":
                del happenings[max(at for at, each in enumerate(happenings) if each.what == "move")]
            elif entry["what"] == "request":
                self._request(entry)
            else:
                happenings.append(Happening(line, entry["what"], entry, self._process, self._question(entry)))
        return Recording(tuple(happenings), self._questions, is_cut=False)

    def _question(self, entry: dict[str, Any]) -> int:
        """The number of the question that a line asks or answers; 0 for others."""
        if entry["what"] == "ask":
            number = self._asked[entry["question"]] = next(self._numbers)
            self._questions[number] = Question(
                number,
                self._process,
                entry["controller"],
                entry["key"],
                entry["effect"],
                entry["text"],
                work=entry.get("work", 0),
                parts=tuple(Part(each["effect"], each["text"]) for each in entry.get("parts", ())),
            )
            return number
        if entry["what"] == "answer":
            number = self._asked[entry["question"]]
            asked = self._questions[number]
            told = entry.get("parts") or [{}] * len(asked.parts)
            parts = tuple(replace(part, **each) for part, each in zip(asked.parts, told, strict=True))
            self._questions[number] = replace(
                asked, value=entry["value"], error=entry["error"], is_answered=True, parts=parts
            )
            return number
        return 0

    def _request(self, entry: dict[str, Any]) -> None:
        number = self._asked[entry["question"]]
        asked = self._questions[number]
        self._questions[number] = replace(asked, requests=(*asked.requests, entry))


def _is_start(entry: dict[str, Any]) -> bool:
    return entry.get("format") == FORMAT


def _check_version(entry: dict[str, Any]) -> None:
    if entry.get("version") != VERSION:
        raise BadRecording(
            f"this recording has version {entry.get('version')!r}, and only version {VERSION} can be read here; record "
            "again with this version of attractor"
        )
