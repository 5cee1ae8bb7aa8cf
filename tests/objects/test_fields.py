"""Field selectors: syntax, escapes, support per kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.fields import (
    METADATA_ONLY,
    FieldSelector,
    FieldSelectorError,
    SelectableFields,
    escape,
    unescape,
)

POD = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"hostNetwork": True}, "status": {"phase": "Pending"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name!=a", False),
        ("metadata.name=a,metadata.namespace=m", False),
        ("status.phase!=Running,metadata.name=a", True),
        ("spec.nodeName=", True),
        ("spec.hostNetwork=true", True),
        (",,", True),
    ],
)
def test_terms_are_all_to_be_met(text: str, expected: bool) -> None:
    assert FieldSelector.parse(text).matches_object(POD) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bogus", "invalid selector: 'bogus'; can't understand 'bogus'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=b\c", r"invalid field selector: invalid escape sequence: \c"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_refusals_have_the_words_of_kubernetes(text: str, message: str) -> None:
    with pytest.raises(FieldSelectorError) as refused:
        FieldSelector.parse(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("supported", "message"),
    [
        (METADATA_ONLY, '"metadata.bogus" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (SelectableFields.of("involvedObject.kind"), "field label not supported: metadata.bogus"),
    ],
)
def test_fields_that_the_kind_lacks_are_refused(supported: SelectableFields, message: str) -> None:
    with pytest.raises(FieldSelectorError) as refused:
        FieldSelector.parse("metadata.bogus=1").checked(supported)
    assert str(refused.value) == message


def test_a_kind_may_find_a_field_elsewhere() -> None:
    fields = SelectableFields({"source": lambda obj: str(obj["source"]["component"])})
    assert FieldSelector.parse("source=x").checked(fields).matches_object({"source": {"component": "x"}}, fields)


def test_get_function_supplies_the_values() -> None:
    assert FieldSelector.parse("a=1,b!=2").matches({"a": "1", "b": "3"}.__getitem__)


@given(st.text(max_size=8))
def test_escaping_is_undone_by_unescaping(value: str) -> None:
    assert unescape(escape(value)) == value


@given(st.dictionaries(st.sampled_from("abc"), st.tuples(st.text(max_size=4), st.booleans()), max_size=3))
def test_printed_selector_reads_as_itself(terms: dict[str, tuple[str, bool]]) -> None:
    text = ",".join(f"{field}{'!=' if negated else '='}{escape(value)}" for field, (value, negated) in terms.items())
    selector = FieldSelector.parse(text)
    assert FieldSelector.parse(str(selector)) == selector
    assert {term.field: (term.value, term.negated) for term in selector.terms} == terms
