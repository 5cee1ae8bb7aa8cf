"""JSON values as bytes: JSON, JSON for people, protobuf, or YAML as Kubernetes writes it.

That is with sorted keys, and lists not indented.

>>> encode({"b": ["x", "true"], "a": ""}, "application/yaml").decode()
'a: ""\\nb:\\n- x\\n- "true"\\n'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import yaml

from attractor.apiserver.request.bodies import JSON, PROTOBUF, YAML
from attractor.httpd.formats import protobuf_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.objects.json_types import Json

_FOR_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_WIDTH = 80
"""Where lines of YAML are broken, as Go breaks them."""


def encode(value: Json, media_type: str = JSON, *, pretty: bool = False) -> bytes:
    """A value in one of the formats; as Go's encoder has it, a line of JSON ends, but for indented JSON.

    Raises ``NotAcceptable`` for what has no protobuf form.
    """
    if media_type == PROTOBUF:
        assert isinstance(value, dict), "protobuf carries objects only"
        return protobuf_answer.encode(value)
    if media_type == YAML:
        return encode_yaml(value)
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 if pretty else orjson.OPT_APPEND_NEWLINE)


def is_for_people(query: Mapping[str, Sequence[str]], user_agent: str) -> bool:
    """Whether to indent JSON: as ``?pretty=`` says, else for browsers, curl and wget."""
    said = query.get("pretty") or ()
    if said and said[0]:
        return said[0] in {"1", "t", "T", "true", "TRUE", "True"}
    return user_agent.startswith(_FOR_PEOPLE)


class _Dumper(yaml.CSafeDumper):
    """Block style, no aliases, double quotes where plain text would be read as something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_STRING = "tag:yaml.org,2002:str"
_AMBIGUOUS = frozenset({"y", "Y", "n", "N", "yes", "no", "on", "off", "", "null", "~", "true", "false", "=", "<<"})


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text and not text.startswith((" ", "\n")) and text.replace("\n", "").isprintable():
        style = "|"
    elif text.lower() in _AMBIGUOUS or _read_as(dumper, text) != _STRING:
        style = '"'
    return dumper.represent_scalar(_STRING, text, style=style)


def _read_as(dumper: _Dumper, text: str) -> str:
    tag: str = dumper.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return tag


_Dumper.add_representer(str, _text)


def encode_yaml(value: Json) -> bytes:
    """YAML with sorted keys."""
    return yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=_WIDTH).encode()
