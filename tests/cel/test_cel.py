"""CEL: the language, Kubernetes' libraries, and their errors."""

import datetime as dt
from typing import Any

import pytest
from cel_expr_python import cel as reference  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.cel import CelCheckError, CelError, CelProgram, declare
from attractor.cel.parser import parse
from attractor.cel.syntax import CelSyntaxError
from attractor.cel.types import DYN
from attractor.schema.node import Schema

SELF = declare(
    Schema(
        {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "ratio": {"type": "number"},
                "name": {"type": "string"},
                "port": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "when": {"type": "string", "format": "date-time"},
                "wait": {"type": "string", "format": "duration"},
                "data": {"type": "string", "format": "byte"},
                "x-y": {"type": "integer"},
                "namespace": {"type": "string"},
                "items": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "unseen": {"x-kubernetes-preserve-unknown-fields": True},
            },
        }
    )
)
VALUE: dict[str, Any] = {
    "size": 3,
    "ratio": 2,
    "name": "web-1",
    "port": 80,
    "tags": ["a", "b"],
    "labels": {"app": "web"},
    "when": "2024-05-06T07:08:09Z",
    "wait": "90s",
    "data": "YWJj",
    "x-y": 7,
    "namespace": "prod",
    "items": [{"k": "a"}, {"k": "b"}],
    "free": {"z": 1},
}


def run(text: str) -> Any:
    assert SELF is not None
    return CelProgram.compile(text, {"self": SELF}).evaluate({"self": SELF.value(VALUE)})


TRUE = r"""
has(self.size) && !has(self.labels.none)
self.size == 3 && self.size != 4 && self.size < 4 && self.size <= 3 && self.size > 2 && self.size >= 3
self.ratio == 2.0
self.ratio * 1.5 == 3.0
self.x__dash__y == 7
self.__namespace__ == 'prod'
type(self.port) == int
type(self.port) == int ? self.port < 100 : false
self.port in [80, 443]
'app' in self.labels && self.labels['app'] == 'web' && self.labels.app == 'web'
self.labels.all(k, k.size() < 10)
self.tags == ['a', 'b']
self.tags.exists(t, t == 'b')
self.tags.exists_one(t, t == 'b')
self.items.map(i, i.k) == ['a', 'b']
self.items.filter(i, i.k == 'a').size() == 1
self.items.map(i, i.k == 'a', i.k + '!') == ['a!']
self.items[0].k == 'a'
self.when > timestamp('2024-01-01T00:00:00Z')
self.when.getFullYear() == 2024 && self.when.getMonth() == 4 && self.when.getDate() == 6
self.when.getHours('Europe/Berlin') == 9
self.wait == duration('1m30s') && self.wait.getSeconds() == 90
self.when + self.wait == timestamp('2024-05-06T07:09:39Z')
self.data == b'abc'
string(self.data) == 'abc'
-7 / 2 == -3 && -7 % 2 == -1
1.0 / 0.0 > 1000.0
1u + 2u == 3u
[1, 2] + [3] == [1, 2, 3]
{'a': [1], 'b': [2]}.b[0] == 2
(false && 1 / 0 == 1) == false
(1 / 0 == 1 && false) == false
true || 1 / 0 == 1
[1, 2, 3].exists(x, x == 2 || 1 / 0 == 1)
'a' + 'b' == "ab" && r'[\]' == '[\\]' && 'é'.size() == 1
'\u00e9' == 'é' && '''a'b''' == "a'b"
int('42') == 42 && double('1.5') == 1.5 && string(1.0) == '1' && bool('true') && uint(3) == 3u
'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo') && 'hello'.matches('^h.*o$')
'hello'.charAt(1) == 'e' && 'hello'.indexOf('l') == 2 && 'hello'.lastIndexOf('l') == 3
'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && ['a', 'b'].join('-') == 'a-b'
'Abc'.lowerAscii() == 'abc' && 'Abc'.upperAscii() == 'ABC' && ' a '.trim() == 'a'
'banana'.replace('a', 'o') == 'bonono' && 'banana'.replace('a', 'o', 1) == 'bonana'
'hello'.substring(1, 3) == 'el' && 'hello'.substring(3) == 'lo'
'%s has %d of %.2f%%'.format(['a', 3, 1.5]) == 'a has 3 of 1.50%'
'abc 123'.find('[0-9]+') == '123' && '123 abc 456'.findAll('[0-9]+') == ['123', '456']
'123 abc 456'.findAll('[0-9]+', 1) == ['123']
[1, 2, 3].isSorted() && [1, 2, 3].sum() == 6 && [3, 1].min() == 1 && [3, 1].max() == 3
[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2
sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])
url('https://user@example.com:8080/p?q=1').getHost() == 'example.com:8080'
url('https://example.com:8080/p?q=1').getPort() == '8080' && url('https://[::1]:80/').getHostname() == '::1'
url('https://a.b/p?q=1&q=2').getQuery() == {'q': ['1', '2']} && isURL('https://a.b') && !isURL('a b')
quantity('1.5Gi').isGreaterThan(quantity('1500Mi')) && isQuantity('10m') && !isQuantity('ten')
quantity('50k').add(20000) == quantity('70k') && quantity('2').asInteger() == 2 && quantity('-1').sign() == -1
quantity('1Ki').compareTo(quantity('1024')) == 0 && !quantity('1500m').isInteger()
ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('1.2.3') && ip('127.0.0.1').isLoopback()
ip.isCanonical('::1') && !ip.isCanonical('::0001')
cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')
cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8
string(cidr('10.0.0.0/8').ip()) == '10.0.0.0' && isCIDR('::/0')
semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0')) && isSemver('v1.2', true)
semver('1.2.3').major() == 1 && semver('1.2.3').patch() == 3
!format.dns1123Label().validate('web').hasValue() && format.dns1123Label().validate('Web').hasValue()
format.named('labelValue').value().validate('a b').value().size() == 1 && !format.named('none').hasValue()
optional.of(1).orValue(2) == 1 && optional.none().orValue(2) == 2 && !optional.ofNonZeroValue('').hasValue()
self.labels[?'none'].orValue('x') == 'x' && self.?name.value() == 'web-1'
self.labels[?'app'].optMap(v, v + '!').value() == 'web!'
[1, ?optional.none(), 3] == [1, 3] && {?'a': optional.none()} == {}
self.tags.all(i, t, i < 2 && t in ['a', 'b'])
self.labels.exists(k, v, k == 'app' && v == 'web')
[1, 2, 3].transformList(i, v, v > 1, i * v) == [2, 6]
self.labels.transformMap(k, v, v + '!') == {'app': 'web!'}
self.labels.transformMapEntry(k, v, {v: k}) == {'web': 'app'}
dyn(1) == dyn(1.0)
"""


@pytest.mark.parametrize("text", [line for line in TRUE.strip().splitlines() if line])
def test_expression_holds(text: str) -> None:
    assert run(text) is True


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("self.labels.none == ''", "no such key: none"),
        ("self.items[2].k == ''", "index out of bounds: 2"),
        ("1 / 0 == 1", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ("self.port.startsWith('a')", "no such overload"),
        ("int('x') == 1", "type conversion error from string to 'int'"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("'a'.matches('' + '(')", "error parsing regexp: missing closing ): `(`"),
        ("[].min() == 1", "min called on empty list"),
        ("'abc'.substring(4) == ''", "index out of range: 4"),
    ],
)
def test_evaluation_error_is_worded_as_cel_go_does(text: str, said: str) -> None:
    with pytest.raises(CelError) as error:
        run(text)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("self.colour", "ERROR: <input>:1:5: undefined field 'colour'\n | self.colour\n | ....^"),
        ("self.free.z", "ERROR: <input>:1:10: undefined field 'z'\n | self.free.z\n | .........^"),
        ("self.unseen", "ERROR: <input>:1:5: undefined field 'unseen'\n | self.unseen\n | ....^"),
        ("foo == 1", "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo == 1\n | ^"),
        (
            "self.size + 'a'",
            "ERROR: <input>:1:11: found no matching overload for '_+_' applied to '(int, string)'\n"
            " | self.size + 'a'\n | ..........^",
        ),
        (
            "self.name.startsWith(1)",
            "ERROR: <input>:1:21: found no matching overload for 'startsWith' applied to 'string.(int)'\n"
            " | self.name.startsWith(1)\n | ....................^",
        ),
        ("[1, 'a']", "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"),
        (
            "self.size.all(x, true)",
            "ERROR: <input>:1:5: expression of type 'int' cannot be range of a comprehension "
            "(must be list, map, or dynamic)\n | self.size.all(x, true)\n | ....^",
        ),
        ("has(self)", "ERROR: <input>:1:5: invalid argument to has() macro\n | has(self)\n | ....^"),
        (
            "self.size.nope",
            "ERROR: <input>:1:10: type 'int' does not support field selection\n | self.size.nope\n | .........^",
        ),
    ],
)
def test_compile_error_shows_the_place(text: str, said: str) -> None:
    with pytest.raises(CelCheckError) as error:
        run(text)
    assert str(error.value) == said


@pytest.mark.parametrize(
    "text", ["", "1 +", "'a", "a b", "1 ? 2", "(" * 500, "a." * 300 + "b", "'\\q'", "{1}", "if", "0x"]
)
def test_broken_text_is_refused_with_a_place(text: str) -> None:
    with pytest.raises(CelCheckError, match=r"ERROR: <input>:"):
        CelProgram.compile(text, {"a": DYN})


def test_sets_are_equal_in_any_order() -> None:
    assert SELF is not None
    same = CelProgram.compile("self.tags == oldSelf.tags", {"self": SELF, "oldSelf": SELF})
    assert same.evaluate({"self": SELF.value({"tags": ["a", "b"]}), "oldSelf": SELF.value({"tags": ["b", "a"]})})


def test_program_serves_any_variables() -> None:
    program = CelProgram.compile("object.spec.replicas <= params.max", {"object": DYN, "params": DYN})
    assert program.evaluate({"object": {"spec": {"replicas": 2}}, "params": {"max": 3}}) is True
    assert program.uses("params")
    assert not program.uses("request")


NUMBERS = st.integers(-5, 5).map(str)
TEXTS = st.sampled_from(["'a'", "'b'", "'ab'", "''"])


def expressions() -> st.SearchStrategy[str]:
    numbers = st.recursive(
        NUMBERS | st.just("n"),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner),
        max_leaves=6,
    )
    texts = st.recursive(TEXTS | st.just("s"), lambda inner: st.builds("({} + {})".format, inner, inner), max_leaves=4)
    tests = st.one_of(
        st.builds("({} {} {})".format, numbers, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), numbers),
        st.builds("({} {} {})".format, texts, st.sampled_from(["<", "==", "!=", ">="]), texts),
        st.builds("{}.startsWith({})".format, texts, texts),
        st.builds("({} in l)".format, numbers),
        st.builds(
            "l.{}(x, x {} {})".format, st.sampled_from(["all", "exists", "exists_one"]), st.sampled_from("<>"), numbers
        ),
        st.builds("(l.map(x, x + {}).size() == l.filter(x, x < {}).size())".format, numbers, numbers),
    )
    return st.recursive(
        tests,
        lambda inner: st.one_of(
            st.builds("({} && {})".format, inner, inner),
            st.builds("({} || {})".format, inner, inner),
            st.builds("!{}".format, inner),
            st.builds("({} ? {} : {})".format, inner, inner, inner),
        ),
        max_leaves=5,
    )


KINDS = {"n": reference.Type.INT, "s": reference.Type.STRING, "l": reference.Type.List(reference.Type.INT)}
REFERENCE = reference.NewEnv(variables=KINDS)


@settings(max_examples=150, deadline=None)
@given(expressions(), st.integers(-3, 3), st.sampled_from(["", "a", "ba"]), st.lists(st.integers(-3, 3), max_size=4))
def test_evaluation_agrees_with_googles_implementation(text: str, n: int, s: str, items: list[int]) -> None:
    bindings = {"n": n, "s": s, "l": items}
    expected = REFERENCE.compile(text).eval(data=bindings)
    types: dict[str, Any] = {"n": read("int"), "s": read("string"), "l": read("list<int>")}
    program = CelProgram.compile(text, types)
    try:
        mine: Any = program.evaluate(bindings)
    except CelError:
        mine = "error"
    failed = expected.type() == reference.Type.ERROR
    assert mine == ("error" if failed else expected.value()), text


def read(text: str) -> Any:
    from attractor.cel.types import read_type

    return read_type(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="self.a[]()'\"\\{}?:+-*/%!&|<>=10rbu ,x\n`é", max_size=40))
def test_no_text_makes_the_parser_raise_anything_else(text: str) -> None:
    places = [0]
    try:
        parse(text)
    except CelSyntaxError as error:
        places = [at for _, at in error.mistakes]
    assert places == sorted(places)
    assert all(0 <= at <= len(text) for at in places)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "k"]), inner, max_size=3),
    max_leaves=8,
)
DYNAMIC = [
    "v.a.b == 1",
    "v[0] < v[1]",
    "v.all(x, x > 1)",
    "v.map(x, x + 1).size() > 0",
    "size(v) > 2",
    "v == v",
    "v + v == v",
    "v in v",
    "v.startsWith('a')",
    "string(v) == ''",
    "int(v) > double(v)",
    "-v < 1",
    "v.indexOf(v) == 0",
    "v.isSorted()",
    "v.sum() == 1",
    "timestamp(v) == timestamp(v)",
    "duration(v) > duration(v)",
    "'%s %d'.format([v, v]) == ''",
    "v.join(',') == ''",
    "v.min() == v.max()",
    "v.transformMap(k, x, x) == v",
    "v.?a.orValue(1) == 1",
    "v.find(v) == v",
    "v.contains(v)",
    "sets.contains(v, v)",
    "quantity(v).sign() == 1",
    "v ? v : !v",
]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(DYNAMIC), JSON)
def test_no_value_makes_an_expression_raise_anything_but_a_cel_error(text: str, value: Any) -> None:
    program = CelProgram.compile(text, {"v": DYN})
    try:
        result = program.evaluate({"v": value})
    except CelError as error:
        result = bool(str(error))
    assert result in {True, False}


def test_durations_in_words_are_durations_too() -> None:
    wait = declare(Schema({"type": "string", "format": "duration"}))
    assert wait is not None
    program = CelProgram.compile("self == duration('72h')", {"self": wait})
    assert program.evaluate({"self": wait.value("3 days")}) is True


def test_times_are_utc() -> None:
    assert run("self.when") == dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=dt.UTC)
