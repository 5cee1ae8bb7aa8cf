"""The reader of CEL texts: tokens, then a tree, by precedence climbing.

>>> parse("self.size > 1").function
'_>_'
>>> parse("self.size >")
Traceback (most recent call last):
    ...
attractor.cel.syntax.CelSyntaxError: Syntax error: mismatched input '<EOF>' expecting \
{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from attractor.cel.syntax import (
    Call,
    CelSyntaxError,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    children,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DEPTH = 80
MAX_TREE_DEPTH = 150
MAX_LENGTH = 100_000
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_TOKEN = re.compile(
    r"""(?P<space>[\t\n\f\r ]+|//[^\n]*)
    |(?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<int>(?:0[xX][0-9a-fA-F]+|\d+))(?P<unsigned>[uU]?)
    |(?P<prefix>(?:[rR][bB]|[bB][rR]|[rRbB])?)(?P<quote>\"\"\"|'''|"|')
    |(?P<ident>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<escaped>`[a-zA-Z0-9_.\-/ ]+`)
    |(?P<op>&&|\|\||==|!=|<=|>=|[<>+\-*/%!?:.,()\[\]{}])""",
    re.VERBOSE | re.ASCII,
)
_BINARY = {
    "||": (1, "_||_"), "&&": (2, "_&&_"),
    "<": (3, "_<_"), "<=": (3, "_<=_"), ">": (3, "_>_"), ">=": (3, "_>=_"), "==": (3, "_==_"), "!=": (3, "_!=_"),
    "in": (3, "@in"), "+": (4, "_+_"), "-": (4, "_-_"), "*": (5, "_*_"), "/": (5, "_/_"), "%": (5, "_%_"),
}  # fmt: skip
_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "?": 63, '"': 34, "'": 39, "`": 96}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_PART_OF_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?")
_MAX_DIGITS = 100
"""A longer number is too large, but for leading zeros that nobody writes."""
_ONE_VARIABLE = {"all": 1, "exists": 1, "exists_one": 1, "existsOne": 1, "filter": 1, "map": 1}
_TWO_VARIABLES = frozenset(
    {"all", "exists", "existsOne", "exists_one", "transformList", "transformMap", "transformMapEntry"}
)


class Token(NamedTuple):
    """A word of the text."""

    kind: str
    text: str
    at: int
    value: object = None


def parse(text: str, messages: frozenset[str] = frozenset()) -> Expr:
    """The tree of an expression; raises ``CelSyntaxError``.

    ``messages`` are the first names of types of which ``Name.part{field: value}`` makes an object: here, a map.
    """
    if len(text) > MAX_LENGTH:
        raise CelSyntaxError(f"expression code point size exceeds limit: size: {len(text)}, limit {MAX_LENGTH}", 0)
    tokens, mistakes = _tokens(text)
    reader = _Reader(tokens, mistakes, messages)
    try:
        expr = reader.expression()
        reader.end()
    except CelSyntaxError as error:
        raise CelSyntaxError(*error.mistakes[0], mistakes) from None
    if mistakes:
        raise CelSyntaxError(*mistakes[0], mistakes[1:])
    _refuse_deep(expr)
    return expr


def _balanced(terms: list[Expr], places: list[int], function: str) -> Expr:
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    left = _balanced(terms[:half], places[: half - 1], function)
    return Call(places[half - 1], function, None, [left, _balanced(terms[half:], places[half:], function)])


def _refuse_deep(expr: Expr) -> None:
    level, depth = [expr], 0
    while level:
        depth += 1
        if depth > MAX_TREE_DEPTH:
            raise CelSyntaxError(f"expression recursion limit exceeded: {MAX_TREE_DEPTH}", 0)
        level = [part for node in level for part in children(node)]


_ORDER = (
    "'['", "']'", "'{'", "'}'", "'('", "')'", "'.'", "','", "'-'", "'!'", "'?'", "'true'", "'false'", "'null'",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER",
)  # fmt: skip
"""In which order cel-go lists what it expects."""
_BEGINNINGS = frozenset(_ORDER) - {"']'", "'}'", "')'", "','", "'?'"}
"""What an expression may begin with."""


def _expected(words: Iterable[str]) -> str:
    listed = sorted(words, key=lambda word: _ORDER.index(word) if word in _ORDER else -1)
    return listed[0] if len(listed) == 1 else f"{{{', '.join(listed)}}}"


def _shown(token: Token) -> str:
    return "<EOF>" if token.kind == "end" else f"`{token.text}`" if token.kind == "escaped" else token.text


def _word(token: Token) -> str:
    """What kind of token it is, in the words in which cel-go says what it expects."""
    match token.kind:
        case "end":
            return "<EOF>"
        case "int" | "uint":
            return f"NUM_{token.kind.upper()}"
        case "literal":
            return {str: "STRING", bytes: "BYTES", float: "NUM_FLOAT"}[type(token.value)]
        case "ident" if token.text not in {"true", "false", "null", "in"}:
            return "IDENTIFIER"
    return f"'{token.text}'"


def _tokens(text: str) -> tuple[list[Token], list[tuple[str, int]]]:
    """The words of a text, and what in it is none."""
    found: list[Token] = []
    mistakes: list[tuple[str, int]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        start, end = (at, at + 2 if text[at] in "=&|" else at + 1) if match is None else _broken(text, match)
        if end:
            if match is not None and start > at:
                found.append(Token("ident", text[at:start], at))
            mistakes.append((f"Syntax error: token recognition error at: '{text[start:end]}'", start))
            at = end
            continue
        assert match is not None, "what is not recognized has an end"
        kind, end = match.lastgroup, match.end()
        if kind == "quote":
            token, end = _string(text, match)
            found.append(token)
        elif kind in {"int", "unsigned"}:
            found.append(_integer(match, at))
        elif kind == "float":
            found.append(Token("literal", match.group(), at, float(match.group())))
        elif kind == "escaped":
            found.append(Token("escaped", match.group()[1:-1], at))
        elif kind != "space":
            found.append(Token("ident" if kind == "ident" else "op", match.group(), at))
        at = end
    found.append(Token("end", "", len(text)))
    return found, mistakes


def _broken(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Where a string begins and breaks off; zeroes for one that does not, and for other tokens."""
    if match.lastgroup != "quote":
        return 0, 0
    quote, at = match.group("quote"), match.end()
    start = at - len(quote)
    is_raw = "r" in match.group("prefix").lower()
    while not text.startswith(quote, at):
        if at >= len(text) or (len(quote) == 1 and text[at] in "\r\n"):
            return start, max(at, start + 1)
        if text[at] != "\\" or is_raw:
            at += 1
        elif (escape := _ESCAPE.match(text, at)) is not None and (
            escape.group(5) is None or escape.group(5) in _ESCAPES
        ):
            at = escape.end()
        else:
            valid = _PART_OF_ESCAPE.match(text, at)
            return start, min((valid.end() if valid else at + 1) + 1, len(text))
    return 0, 0


def _integer(match: re.Match[str], at: int) -> Token:
    digits = match.group("int")
    unsigned = bool(match.group("unsigned"))
    value = int(digits, 16 if digits[:2].lower() == "0x" else 10) if len(digits) <= _MAX_DIGITS else 2**64
    if value >= 2**64 or (not unsigned and value > 2**63):
        raise CelSyntaxError(f"invalid {'uint' if unsigned else 'int'} literal", at)
    return Token("uint" if unsigned else "int", match.group(), at, value)


def _string(text: str, match: re.Match[str]) -> tuple[Token, int]:
    prefix, quote, start = match.group("prefix").lower(), match.group("quote"), match.end()
    raw, at = "r" in prefix, match.end()
    while not text.startswith(quote, at):  # ``_broken`` knows that it ends
        at += 2 if text[at] == "\\" and not raw else 1
    body = text[start:at]
    end = at + len(quote)
    if "b" in prefix:
        return Token("literal", text[match.start() : end], match.start(), _bytes(body, raw, match.start())), end
    value = body if raw else _ESCAPE.sub(lambda found: chr(_escaped(found, match.start())), body)
    return Token("literal", text[match.start() : end], match.start(), value), end


def _bytes(body: str, raw: bool, at: int) -> bytes:
    if raw:
        return body.encode()
    out, last = bytearray(), 0
    for found in _ESCAPE.finditer(body):
        code = _escaped(found, at)
        octet = found.group(1) or found.group(4)
        out += body[last : found.start()].encode() + (bytes([code]) if octet else chr(code).encode())
        last = found.end()
    return bytes(out) + body[last:].encode()


def _escaped(found: re.Match[str], at: int) -> int:
    hexadecimal = found.group(1) or found.group(2) or found.group(3)
    code = int(hexadecimal, 16) if hexadecimal else int(found.group(4), 8) if found.group(4) else -1
    if code < 0:
        code = _ESCAPES.get(found.group(5), -1)
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise CelSyntaxError(f"Syntax error: invalid escape sequence '{found.group()}'", at)
    return code


class _Reader:
    """A cursor over tokens, which goes on after a mistake where ANTLR does.

    A token too many is passed over if the one after it fits; one that is missing is thought to be there if what comes
    fits after it. Everything else ends the reading.
    """

    def __init__(self, tokens: list[Token], mistakes: list[tuple[str, int]], messages: frozenset[str]) -> None:
        self._messages = messages
        self._tokens = tokens
        self._mistakes = mistakes
        self._next = 0
        self._depth = 0
        self._open = 0
        """How many brackets are open."""

    def peek(self) -> Token:
        return self._tokens[self._next]

    def take(self) -> Token:
        token = self.peek()
        self._next += token.kind != "end"
        return token

    def note(self, what: str, token: Token) -> None:
        self._mistakes.append((f"Syntax error: {what}", token.at))

    def expect(self, words: frozenset[str]) -> None:
        """Make sure that one of these comes next, passing over one token if need be; raises ``CelSyntaxError``."""
        token = self.peek()
        if _word(token) in words:
            return
        if token.kind != "end" and _word(self._tokens[self._next + 1]) in words:
            self.note(f"extraneous input '{_shown(token)}' expecting {_expected(words)}", token)
            self._next += 1
            return
        raise CelSyntaxError(f"Syntax error: mismatched input '{_shown(token)}' expecting {_expected(words)}", token.at)

    def end(self) -> None:
        """Nothing comes any more."""
        self.expect(frozenset({"<EOF>"}))

    def demand(self, text: str) -> None:
        """Take what must come next."""
        token, following = self.peek(), self._tokens[self._next + (self.peek().kind != "end")]
        fits_after = _word(token) in _BEGINNINGS if text == ":" else token.kind == "end" and not self._open
        if _word(token) != f"'{text}'" and _word(following) != f"'{text}'" and fits_after:
            self.note(f"missing '{text}' at '{_shown(token)}'", token)
            return
        self.expect(frozenset({f"'{text}'"}))
        self.take()

    def close(self, text: str) -> None:
        """Take what ends the innermost bracket."""
        self._open -= 1
        self.demand(text)

    def next_of(self, closing: str) -> bool:
        """After an item of a list or a map: whether a comma comes; else its end is taken."""
        self.expect(frozenset({f"'{closing}'", "','"}))
        if self.accept(",") is not None:
            return True
        self.close(closing)
        return False

    def accept(self, text: str) -> Token | None:
        token = self.peek()
        if token.kind in {"op", "ident"} and token.text == text:
            self._next += 1
            return token
        return None

    def expression(self) -> Expr:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CelSyntaxError(f"expression recursion limit exceeded: {MAX_DEPTH}", self.peek().at)
        condition = self.binary(1)
        if (question := self.accept("?")) is not None:
            chosen = self.binary(1)
            self.demand(":")
            condition = Call(question.at, "_?_:_", None, [condition, chosen, self.expression()])
        self._depth -= 1
        return condition

    def binary(self, least: int) -> Expr:
        left = self.unary()
        while (operator := _BINARY.get(self.peek().text)) and self.peek().kind != "literal" and operator[0] >= least:
            if operator[0] <= 2:
                left = self.logical(left, *operator)
                continue
            at = self.take().at
            left = Call(at, operator[1], None, [left, self.binary(operator[0] + 1)])
        return left

    def logical(self, first: Expr, level: int, function: str) -> Expr:
        """A chain of one logical operator becomes a balanced tree, however long it is."""
        word = function.strip("_")
        terms, places = [first], []
        while (token := self.accept(word)) is not None:
            places.append(token.at)
            terms.append(self.binary(level + 1))
        return _balanced(terms, places, function)

    def unary(self) -> Expr:
        token = self.peek()
        if token.kind == "op" and token.text in "!-":
            self.take()
            following = self.peek()
            if token.text == "!" and following.kind == "end":  # here, and only here, the end is one token too many
                why = f"Syntax error: extraneous input '<EOF>' expecting {_expected(_BEGINNINGS)}"
                raise CelSyntaxError(why, following.at)
            if token.text == "-" and following.kind in {"int", "literal"} and isinstance(following.value, int | float):
                self.take()
                negative = Literal(token.at, -following.value, "int" if following.kind == "int" else "double")
                return self.members(negative)
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise CelSyntaxError(f"expression recursion limit exceeded: {MAX_DEPTH}", token.at)
            operand = self.unary()
            self._depth -= 1
            return Call(token.at, "!_" if token.text == "!" else "-_", None, [operand])
        return self.members(self.primary())

    def members(self, expr: Expr) -> Expr:
        while True:
            if (dot := self.accept(".")) is not None:
                expr = self.member(expr, dot)
            elif (bracket := self.accept("[")) is not None:
                self.expect(_BEGINNINGS | {"'?'"})
                function = "_[?_]" if self.accept("?") else "_[_]"
                self._open += 1
                expr = Call(bracket.at, function, None, [expr, self.expression()])
                self.close("]")
            elif self._messages and _first_name(expr) in self._messages and (brace := self.accept("{")) is not None:
                return self.message_literal(brace)
            else:
                return expr

    def message_literal(self, token: Token) -> Expr:
        """An object of a type whose fields are not known: a map by the names of the fields."""
        literal = MapLiteral(token.at)
        self._open += 1
        while _word(self.peek()) != "'}'":
            optional = self.accept("?") is not None
            name = self.take()
            if name.kind not in {"ident", "escaped"}:
                raise CelSyntaxError(f"Syntax error: mismatched input '{_shown(name)}' expecting IDENTIFIER", name.at)
            self.demand(":")
            value = self.expression()
            if not optional:
                value = Call(value.at, "dyn", None, [value])  # fields are of different types
            literal.entries.append((Literal(name.at, name.text, "string"), value, optional))
            if self.accept(",") is None:
                break
        self.close("}")
        return literal

    def member(self, expr: Expr, dot: Token) -> Expr:
        optional = self.accept("?") is not None
        name = self.take()
        if name.kind == "ident" and name.text in {"true", "false", "null"}:
            raise CelSyntaxError(f"Syntax error: mismatched input '{name.text}' expecting IDENTIFIER", name.at)
        if name.kind not in {"ident", "escaped"} or name.text == "in":
            raise CelSyntaxError(f"Syntax error: no viable alternative at input '.{name.text}'", name.at)
        if optional or name.kind == "escaped" or (paren := self.accept("(")) is None:
            return Select(dot.at, expr, name.text, optional=optional)
        return _macro(Call(paren.at, name.text, expr, self.arguments(")")))

    def arguments(self, closing: str) -> list[Expr]:
        found: list[Expr] = []
        self._open += 1
        self.expect(_BEGINNINGS | {f"'{closing}'"})
        if _word(self.peek()) != f"'{closing}'":
            found.append(self.expression())
            while self.accept(",") is not None:
                found.append(self.expression())
        self.close(closing)
        return found

    def primary(self) -> Expr:
        self.expect(_BEGINNINGS)
        token = self.take()
        if token.kind in {"int", "uint"}:
            if token.kind == "int" and token.value == 2**63:
                raise CelSyntaxError("invalid int literal", token.at)
            return Literal(token.at, token.value, token.kind)
        if token.kind == "literal":
            kind = {str: "string", bytes: "bytes", float: "double"}[type(token.value)]
            return Literal(token.at, token.value, kind)
        if token.kind == "ident":
            return self.named(token)
        if token.text == "." and self.peek().kind == "ident":
            return self.named(self.take())
        if token.text == "(":
            self._open += 1
            expr = self.expression()
            self.close(")")
            return expr
        if token.text == "[":
            return self.list_literal(token)
        if token.text == "{":
            return self.map_literal(token)
        following = self.peek()
        raise CelSyntaxError(f"Syntax error: no viable alternative at input '.{following.text}'", following.at)

    def named(self, token: Token) -> Expr:
        if token.text in {"true", "false"}:
            return Literal(token.at, token.text == "true", "bool")
        if token.text == "null":
            return Literal(token.at, None, "null_type")
        if token.text in RESERVED:
            self._mistakes.append((f"reserved identifier: {token.text}", token.at))
        if (paren := self.accept("(")) is not None:
            return _macro(Call(paren.at, token.text, None, self.arguments(")")))
        return Ident(token.at, token.text)

    def list_literal(self, token: Token) -> Expr:
        items: list[Expr] = []
        optional = set()
        self._open += 1
        self.expect(_BEGINNINGS | {"'?'", "']'", "','"})
        if self.accept(",") is not None or _word(self.peek()) == "']'":
            self.close("]")
            return ListLiteral(token.at, items)
        while True:
            if self.accept("?"):
                optional.add(len(items))
            items.append(self.expression())
            if not self.next_of("]"):
                break
            if _word(self.peek()) not in _BEGINNINGS | {"'?'"}:
                self.close("]")
                break
        return ListLiteral(token.at, items, frozenset(optional))

    def map_literal(self, token: Token) -> Expr:
        literal = MapLiteral(token.at)
        self._open += 1
        self.expect(_BEGINNINGS | {"'?'", "'}'", "','"})
        if self.accept(",") is not None or _word(self.peek()) == "'}'":
            self.close("}")
            return literal
        while True:
            optional = self.accept("?") is not None
            key = self.expression()
            self.demand(":")
            literal.entries.append((key, self.expression(), optional))
            if not self.next_of("}"):
                break
            if _word(self.peek()) not in _BEGINNINGS | {"'?'"}:
                self.close("}")
                break
        return literal


def _first_name(expr: Expr) -> str:
    """The first part of a qualified name; empty for anything else."""
    while isinstance(expr, Select) and not (expr.optional or expr.test_only):
        expr = expr.operand
    return expr.name if isinstance(expr, Ident) else ""


def _macro(call: Call) -> Expr:
    """A call that is a macro becomes what the macro means."""
    name, target, args = call.function, call.target, call.args
    if target is None:
        if name == "has" and len(args) == 1:
            if not isinstance(args[0], Select) or args[0].optional:
                raise CelSyntaxError("invalid argument to has() macro", args[0].at)
            return Select(call.at, args[0].operand, args[0].field, test_only=True)
        return call
    if name in {"optMap", "optFlatMap"} and len(args) == 2:
        return Comprehension(call.at, name, target, None, _variable(args[0]), None, args[1])
    if name in _ONE_VARIABLE and len(args) == 2:
        kind = "exists_one" if name == "existsOne" else name
        item = _variable(args[0])
        if kind == "filter":
            return Comprehension(call.at, kind, target, None, item, args[1], None)
        return Comprehension(call.at, kind, target, None, item, None, args[1])
    if name == "map" and len(args) == 3:
        return Comprehension(call.at, name, target, None, _variable(args[0]), args[1], args[2])
    if name in _TWO_VARIABLES and len(args) in ((3, 4) if name.startswith("transform") else (3,)):
        kind = "exists_one" if name == "existsOne" else name
        condition = args[2] if len(args) == 4 else None
        return Comprehension(call.at, kind, target, _variable(args[0]), _variable(args[1]), condition, args[-1])
    return call


def _variable(expr: Expr) -> str:
    if not isinstance(expr, Ident):
        raise CelSyntaxError("argument is not an identifier", expr.at)
    return expr.name
