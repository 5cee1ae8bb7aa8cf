"""Log lines: a constant message and its fields."""

import json
import logging
import sys

from attractor.runtime.observability.field_logger import FieldFormatter, JsonFormatter


def test_fields_follow_the_message_and_are_quoted_where_needed() -> None:
    record = logging.makeLogRecord(
        {
            "name": "attractor.httpd",
            "levelname": "WARNING",
            "msg": "client disconnected",
            "client": "127.0.0.1:1",
            "why": "too slow",
            "empty": "",
        }
    )
    line = FieldFormatter().format(record)
    assert line.endswith("WARNING attractor.httpd client disconnected client=127.0.0.1:1 why='too slow' empty=''")


def test_a_field_cannot_fake_a_second_line() -> None:
    record = logging.makeLogRecord({"msg": "internal error", "path": "/a\n2026-01-01 ERROR fake"})
    assert "\n" not in FieldFormatter().format(record)


def test_colours_are_for_terminals_and_change_no_word() -> None:
    record = logging.makeLogRecord(
        {"name": "attractor.x", "levelname": "ERROR", "levelno": logging.ERROR, "msg": "failed", "key": "a/b"}
    )
    coloured = FieldFormatter(coloured=True).format(record)
    plain = FieldFormatter().format(record)
    assert "\x1b[31mERROR" in coloured
    assert "\x1b" not in plain
    for code in ("31", "2", "1", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured.split() == plain.split()


def test_a_json_line_has_the_fields_the_time_in_utc_and_the_traceback() -> None:
    try:
        raise KeyError("size")
    except KeyError:
        error = sys.exc_info()
    record = logging.makeLogRecord(
        {
            "name": "attractor.controller.lamps",
            "levelname": "ERROR",
            "msg": "reconcile failed",
            "created": 1763442000.5,
            "key": "default/a",
            "failures": 3,
            "level": "what an author calls so",
            "odd": {1, 2}.__class__,
            "exc_info": error,
        }
    )
    line = JsonFormatter().format(record)
    assert "\n" not in line
    told = json.loads(line)
    assert told.pop("traceback").endswith("KeyError: 'size'")
    assert told == {
        "time": "2025-11-18T05:00:00.500Z",
        "level": "error",
        "logger": "attractor.controller.lamps",
        "message": "reconcile failed",
        "key": "default/a",
        "failures": 3,
        "level_": "what an author calls so",
        "odd": "<class 'set'>",
    }
