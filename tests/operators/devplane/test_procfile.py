"""A Procfile becomes Executables, and Services for those that listen."""

import pytest

from attractor.operators.devplane.api.application import ApplicationError
from attractor.operators.devplane.api.procfile import is_procfile, parts

TEXT = """\
# what runs
web: serve --fast
admin_page: serve ${PORT} --slow

worker: work $PORTFOLIO
"""


def test_each_line_is_a_process_and_those_that_listen_have_a_service() -> None:
    found = parts("Procfile", TEXT, env_files=[".env"])
    assert [(str(part), part.place) for part in found] == [
        ("Service web", "Procfile:2"),
        ("Service admin-page", "Procfile:3"),
        ("Executable web", "Procfile:2"),
        ("Executable admin-page", "Procfile:3"),
        ("Executable worker", "Procfile:5"),
    ]
    assert found[2].object["spec"] == {
        "command": ["sh", "-c", "serve --fast"],
        "envFiles": [".env"],
        "serves": [{"service": "web"}],
        "env": [{"name": "PORT", "value": '{{portForServing "web"}}'}],
    }
    assert found[4].object["spec"] == {"command": ["sh", "-c", "work $PORTFOLIO"], "envFiles": [".env"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("web serve", "Procfile:1: this is no line of a Procfile"),
        ("a: b\n\na: c", "Procfile:3: a is at Procfile:1 too"),
        ("# nothing", "Procfile: there is no process in it"),
    ],
)
def test_what_is_no_procfile_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ApplicationError, match=message):
        parts("Procfile", text)


@pytest.mark.parametrize(
    ("name", "expected"), [("Procfile", True), ("a/Procfile.dev", True), ("Procfiles", False), ("app.yaml", False)]
)
def test_a_procfile_is_known_by_its_name(name: str, expected: bool) -> None:
    assert is_procfile(name) is expected
