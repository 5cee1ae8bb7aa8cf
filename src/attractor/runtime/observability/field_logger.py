"""Structured logs: a constant message, then its fields as ``name=value``, on top of the standard library's logging."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

LogForm: TypeAlias = Literal["text", "json"]
"""How log lines are written."""

_DIM, _BOLD = "2", "1"
_LEVELS = {logging.DEBUG: "2", logging.WARNING: "33", logging.ERROR: "31", logging.CRITICAL: "31"}
"""The colours of levels."""
_RESERVED = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class FieldLogger:
    """``log.info("reconciled", took_ms=3)``: the fields become attributes of the log record.

    A field whose name logging itself uses gets an underscore appended.
    """

    __slots__ = ("_fields", "_logger")

    def __init__(self, name: str, fields: Mapping[str, Any] | None = None) -> None:
        self._logger = logging.getLogger(name)
        self._fields = dict(fields or {})

    def bind(self, **fields: Any) -> FieldLogger:
        """A logger that adds these fields to every line."""
        return FieldLogger(self._logger.name, {**self._fields, **fields})

    @property
    def is_debugged(self) -> bool:
        """Return whether debug lines are written."""
        return self._logger.isEnabledFor(logging.DEBUG)

    def debug(self, message: str, **fields: Any) -> None:
        """For those who look closely."""
        self._write(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: Any) -> None:
        """Log what happened."""
        self._write(logging.INFO, message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        """Log what may need someone's attention."""
        self._write(logging.WARNING, message, fields)

    def error(self, message: str, error: BaseException | None = None, **fields: Any) -> None:
        """Log what failed; with its traceback when the error is given, and in short in the line (``error=``)."""
        if error is not None:
            fields.setdefault("error", in_short(error))
        self._write(logging.ERROR, message, fields, error)

    def error_in_short(self, message: str, error: BaseException, **fields: Any) -> None:
        """Log what failed in one line, without a traceback."""
        self._write(logging.ERROR, message, {"error": in_short(error), **fields})

    def _write(self, level: int, message: str, fields: Mapping[str, Any], error: BaseException | None = None) -> None:
        if self._logger.isEnabledFor(level):
            merged = {**self._fields, **fields}
            extra = {f"{name}_" if name in _RESERVED else name: value for name, value in merged.items()}
            self._logger.log(level, message, extra=extra, exc_info=error)


def in_short(error: BaseException) -> str:
    """An error in one line: ``NotFound: configmaps "a" not found``; of a group, its first one."""
    if isinstance(error, BaseExceptionGroup):
        return f"{in_short(error.exceptions[0])} (one of {len(error.exceptions)} errors)"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class FieldFormatter(logging.Formatter):
    """``2026-11-15T22:30:00 WARNING attractor.httpd client disconnected client=127.0.0.1:4711``.

    On a terminal the level is coloured, and names of fields are dim.
    """

    def __init__(self, *, coloured: bool = False) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self._coloured = coloured

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line without a traceback."""
        fields = [f"{self._painted(name + '=', _DIM)}{_quoted(value)}" for name, value in _fields(record)]
        if not self._coloured:
            return " ".join([super().formatMessage(record), *fields])
        level = self._painted(f"{record.levelname:<7}", _LEVELS.get(record.levelno, ""))
        message = self._painted(record.message, _BOLD if record.levelno >= logging.WARNING else "")
        return " ".join(
            [self._painted(record.asctime, _DIM), level, self._painted(record.name, _DIM), message, *fields]
        )

    def _painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._coloured and code else text


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``time``, ``level``, ``logger``, ``message``, then the fields; ``traceback`` if any.

    A field whose name is one of these gets an underscore appended. What JSON cannot hold is told as text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in _fields(record):
            line[f"{name}_" if name in line or name == "traceback" else name] = value
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _fields(record: logging.LogRecord) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in record.__dict__.items() if name not in _RESERVED]


def _quoted(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and '"' not in text and text else repr(text)


def log_to_stderr(level: int, *, form: LogForm = "text", coloured: bool = False) -> None:
    """Write this process's log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else FieldFormatter(coloured=coloured))
    root = logging.getLogger("attractor")
    root.handlers = [handler]
    root.setLevel(level)
    root.propagate = False
