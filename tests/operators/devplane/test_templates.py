"""Templates: what they mean, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.operators.devplane.api.templates import NotServed, Reference, Unresolved, expand, references


class Known:
    """Serves ``web`` and can reach ``web`` and ``db``; ``late`` has no address yet."""

    def serving(self, service: str) -> tuple[str, int]:
        return {"web": ("127.0.0.1", 4000)}[service]

    def reaching(self, service: str) -> tuple[str, int] | None:
        return {"web": ("127.0.0.2", 80), "db": ("::1", 5432)}.get(service)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ('{{portForServing "web"}}', "4000"),
        ('{{addressForServing "web"}}', "127.0.0.1"),
        ('http://{{addressFor "web"}}:{{portFor "web"}}/x', "http://127.0.0.2:80/x"),
        ("{{  portFor 'db'\t}}", "5432"),
        ("{{portFor `db`}}{{portFor `db`}}", "54325432"),
        ('--listen={{addressForServing "web"}}:{{portForServing "web"}}', "--listen=127.0.0.1:4000"),
    ],
)
def test_a_template_is_replaced_by_what_it_asks_for(text: str, expanded: str) -> None:
    assert expand(text, Known()) == expanded


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{{}}",
        "{{portFor}}",
        "{{portFor web}}",
        '{{portFor "web}}',
        "{{portFor \"web'}}",
        '{{portfor "web"}}',
        '{{portFor "Web"}}',
        '{{portFor ""}}',
        '{portFor "web"}',
        "{{ .Values.port }}",
        '{{portFor "a" "b"}}',
    ],
)
def test_what_is_no_template_stays_as_it_is(text: str) -> None:
    assert expand(text, Known()) == text
    assert references([text]) == []


def test_a_service_without_an_address_is_waited_for_by_name() -> None:
    with pytest.raises(Unresolved, match="waits for Service late") as found:
        expand('{{portFor "web"}} {{addressFor "late"}}', Known())
    assert found.value.service == "late"


def test_serving_what_is_not_served_says_how_to_mend_it() -> None:
    with pytest.raises(NotServed, match=r'{{portForServing "db"}}.*add it to `serves`, or use portFor '):
        expand('{{portForServing "db"}}', Known())


def test_references_are_told_once_in_order() -> None:
    texts = ['{{portFor "b"}} {{addressForServing "a"}}', '{{portFor "b"}}']
    assert references(texts) == [Reference("portFor", "b"), Reference("addressForServing", "a")]
    assert [one.is_serving for one in references(texts)] == [False, True]


@given(st.lists(st.sampled_from(['{{portFor "db"}}', "{{", "}}", '"', " ", "portFor", "{{x}}"])))
def test_expanding_replaces_exactly_what_is_found(parts: list[str]) -> None:
    text = "".join(parts)
    assert expand(text, Known()) == text.replace('{{portFor "db"}}', "5432")
