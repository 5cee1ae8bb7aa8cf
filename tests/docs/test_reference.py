"""Everything public has reference text: Python names, commands and their options, built-in kinds.

Each test goes through all of them and tells all that is missing: parsing the whole package takes some seconds, which
nobody should pay who only collects tests.
"""

import argparse
import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from functools import cache

import griffe
import pytest

from attractor.k8s import archive, typed_classes
from tools.docsite import api, commands, kinds


@cache
def parsers() -> tuple[argparse.ArgumentParser, ...]:
    """Every command and subcommand of both programs."""
    from attractor.cli.main import build_parser
    from attractor_verify.main import build_parser as build_verifier

    return (*commands.commands(build_parser()), build_verifier())


def own_members(cls: griffe.Class) -> Iterator[griffe.Object | griffe.Alias]:
    """Public methods and properties of a class, also those that it inherits from ours."""
    for name, member in {**cls.inherited_members, **cls.members}.items():
        is_property = member.is_attribute and "property" in member.labels
        if not name.startswith("_") and (member.is_function or is_property):
            yield member


@pytest.mark.slow
def test_every_public_name_has_reference_text_and_so_have_its_methods() -> None:
    bare = []
    for name in sorted(set(api.homes().values()) - set(api.FOREIGN)):
        found = api.resolve(name)
        target = found.final_target if isinstance(found, griffe.Alias) else found
        if not target.has_docstring or (target.is_module and target.name in target.members):  # it hides a function
            bare.append(f"{name} ({target.canonical_path})")
        if isinstance(target, griffe.Class):
            bare += [f"{name}: {one.canonical_path}" for one in own_members(target) if not one.has_docstring]
    assert not bare, "without a docstring: " + ", ".join(bare)


@pytest.mark.slow
def test_the_table_of_pages_names_what_is_public_once() -> None:
    listed = [f"{page.module}.{name}" for page in api.TABLE for name in page.members]
    assert sorted(set(listed)) == sorted(listed)
    assert [name for name in listed if name not in set(api.homes().values())] == []


@pytest.mark.slow
def test_every_public_name_is_on_a_page() -> None:
    shown = [f"{page.module}.{name}" for page in api.pages() for name in page.members]
    assert sorted(shown) == sorted(api.homes().values())
    assert len(shown) > 150


def test_every_built_in_kind_has_reference_text() -> None:
    known = set(archive.index()["kinds"].values())
    definitions = [
        definition
        for module in kinds.modules()
        for name in kinds.stub_classes(module)
        if (definition := f"{typed_classes.MODULES[module]}.{name}") in known
    ]
    assert len(definitions) > 30
    assert [definition for definition in definitions if not kinds.described(definition)] == []


def test_every_command_says_what_it_does_and_shows_an_example_of_itself() -> None:
    lacking = []
    for parser in parsers():
        typed = [command for one in commands.examples(parser)[0] for command in one.commands]
        if not parser.description:
            lacking.append(f"`{parser.prog}` has no description")
        if not any(command.startswith(parser.prog) for command in typed):
            lacking.append(f"the help of `{parser.prog}` shows no example of it")
    assert lacking == []
    assert len(parsers()) > 20


def test_every_option_of_a_command_says_what_it_does() -> None:
    silent = [
        f"{parser.prog} {' '.join(action.option_strings) or action.dest}"
        for parser in parsers()
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert silent == []


def test_every_example_is_a_command_that_is_understood() -> None:
    programs = {parser.prog: parser for parser in parsers() if " " not in parser.prog}
    typed = {command for parser in parsers() for one in commands.examples(parser)[0] for command in one.commands}
    refused = []
    for command in sorted(command for command in typed if command.startswith(("attractor ", "attractor-verify "))):
        program, *words = shlex.split(re.split(r" [|>] ", command)[0])
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                programs[program].parse_args(words)
        except SystemExit:
            refused.append(f"{command}: {said.getvalue().strip().splitlines()[-1]}")
    assert refused == []
