"""Label selectors against Kubernetes' published cases and a brute-force oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.labels import LabelSelector, Requirement, SelectorError, validate_label_selector

KEYS, VALUES = ["a", "b", "c"], ["", "x", "y", "1", "2"]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x=a,y=b,z=c", "x=a,y=b,z=c"),
        ("", ""),
        ("x!=a,y=b", "x!=a,y=b"),
        ("x=", "x="),
        ("x= ", "x="),
        ("x=,z= ", "x=,z="),
        ("x= ,z= ", "x=,z="),
        ("!x", "!x"),
        ("x>1", "x>1"),
        ("x>1,z<5", "x>1,z<5"),
        ("x==a", "x==a"),
        ("x in (a,b)", "x in (a,b)"),
        ("x notin (b,a,)", "x notin (,a,b)"),
        ("x in ()", "x in ()"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin", "notin"),
        (" z , a ", "a,z"),
        ("x in (,a", None),
        ("x=a||y=b", None),
        ("x==a==b", None),
        ("!x=a", None),
        ("x<a", None),
        (",", None),
    ],
)
def test_selectors_are_read_and_printed_as_kubernetes_does(text: str, printed: str | None) -> None:
    if printed is None:
        with pytest.raises(SelectorError):
            LabelSelector.parse(text)
    else:
        assert str(LabelSelector.parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a b c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=1,", "found '', expected: identifier after ','"),
        ("a=1 b", "found 'b', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("!a in (b)", "found 'in', expected: ',' or 'end of string'"),
        ("a<x", 'unable to parse requirement: values[0]: Invalid value: "x": '
                "for 'Gt', 'Lt' operators, the value must be an integer"),
        ("-a=1", 'unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of alphanumeric '
                 "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
                 "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"),
        ("a=-b", 'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be an empty string or '
                 "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
                 "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                 "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"),
    ],
)  # fmt: skip
def test_refusals_have_the_words_of_kubernetes(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as refused:
        LabelSelector.parse(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("x=y", {"x": "y"}, True),
        ("x=y,z=w", {"x": "y", "z": "w"}, True),
        ("x!=y,z!=w", {"x": "z", "z": "a"}, True),
        ("notin=in", {"notin": "in"}, True),
        ("x", {"x": "z"}, True),
        ("!x", {"y": "z"}, True),
        ("x>1", {"x": "2"}, True),
        ("x<1", {"x": "0"}, True),
        ("x>1", {"x": "a"}, False),
        ("x>1", {}, False),
        ("x=z", {}, False),
        ("x=", {}, False),
        ("x in ()", {"x": ""}, True),
        ("x!=a", {}, True),
        ("x notin (a,b)", {}, True),
        ("!x", {"x": "z"}, False),
        ("a,b,c", {"a": "", "b": "", "c": ""}, True),
    ],
)
def test_published_matches(text: str, labels: dict[str, str], expected: bool) -> None:
    assert LabelSelector.parse(text).matches(labels) is expected


def meets(labels: dict[str, str], key: str, operator: str, values: list[str]) -> bool:
    """The definition, without any cleverness."""
    value = labels.get(key)
    match operator:
        case "exists":
            return value is not None
        case "!":
            return value is None
        case "in" | "=" | "==":
            return value is not None and value in values
        case "notin" | "!=":
            return value is None or value not in values
        case _:
            number = int(value) if value and value.isdigit() else None
            return number is not None and (number > int(values[0]) if operator == "gt" else number < int(values[0]))


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, str, list[str]]:
    operator = draw(st.sampled_from(["in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"]))
    if operator in {"in", "notin"}:
        values = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3))
    elif operator in {"gt", "lt"}:
        values = [draw(st.sampled_from(["1", "2"]))]
    else:
        values = [] if operator in {"exists", "!"} else [draw(st.sampled_from(VALUES))]
    return draw(st.sampled_from(KEYS)), operator, values


@given(st.lists(conditions(), max_size=4), st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)))
def test_matching_agrees_with_brute_force_and_survives_printing(
    wanted: list[tuple[str, str, list[str]]], labels: dict[str, str]
) -> None:
    selector = LabelSelector(Requirement.checked(*condition) for condition in wanted)
    expected = all(meets(labels, *condition) for condition in wanted)
    assert selector.matches(labels) is expected
    again = LabelSelector.parse(str(selector))
    assert again == selector
    assert again.matches(labels) is expected


@given(st.text(alphabet="ab=!<>(), in", max_size=12))
def test_any_text_is_read_or_refused_and_what_is_read_prints_to_itself(text: str) -> None:
    try:
        selector = LabelSelector.parse(text)
    except SelectorError:
        return
    assert LabelSelector.parse(str(selector)) == selector


def test_selector_objects_mean_what_their_text_means() -> None:
    found = LabelSelector.of_object(
        {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "t", "operator": "NotIn", "values": ["b", "a"]}]}
    )
    assert found == LabelSelector.parse("app=x,t notin (a,b)")
    assert LabelSelector.of_object(None) is None
    everything = LabelSelector.of_object({})
    assert everything is not None
    assert everything.is_everything


def test_unknown_operator_in_a_selector_object_is_refused() -> None:
    with pytest.raises(SelectorError, match='"Maybe" is not a valid label selector operator'):
        LabelSelector.of_object({"matchExpressions": [{"key": "a", "operator": "Maybe"}]})


def test_broken_selector_objects_name_every_field() -> None:
    errors = validate_label_selector(
        {
            "matchLabels": {"a b": "1"},
            "matchExpressions": [
                {"key": "a", "operator": "In"},
                {"key": "a", "operator": "Exists", "values": ["x"]},
                {"key": "a", "operator": "Maybe"},
            ],
        },
        "spec.selector",
    )
    assert [f"{error.path} {error.reason}" for error in errors] == [
        "spec.selector.matchLabels FieldValueInvalid",
        "spec.selector.matchExpressions[0].values FieldValueRequired",
        "spec.selector.matchExpressions[1].values FieldValueForbidden",
        "spec.selector.matchExpressions[2].operator FieldValueInvalid",
    ]
    assert errors[3].body == 'Invalid value: "Maybe": not a valid selector operator'


def test_exact_value_finds_what_an_index_can_use() -> None:
    selector = LabelSelector.parse("a=1,b in (x),c!=3")
    assert (selector.exact_value("a"), selector.exact_value("b"), selector.exact_value("c")) == ("1", "x", None)
