"""Log lines for people and machines: a constant message, then its fields as ``name=value``."""

from __future__ import annotations

import logging
import sys

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class FieldFormatter(logging.Formatter):
    """``2026-11-15T22:30:00 WARNING attractor.httpd client disconnected client=127.0.0.1:4711``."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line without a traceback."""
        fields = [f"{name}={_quoted(value)}" for name, value in record.__dict__.items() if name not in _STANDARD]
        return " ".join([super().formatMessage(record), *fields])


def _quoted(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and '"' not in text and text else repr(text)


def log_to_stderr(level: int) -> None:
    """Write this process's log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FieldFormatter())
    root = logging.getLogger("attractor")
    root.handlers = [handler]
    root.setLevel(level)
    root.propagate = False
