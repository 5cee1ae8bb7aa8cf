"""Log lines: a constant message and its fields."""

import logging

from attractor.runtime.observability.field_logger import FieldFormatter


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
