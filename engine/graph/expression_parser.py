"""The `program` form of a graph: assignments and expressions of a closed grammar, parsed to nodes, never evaluated.

program    = line, { newline, line }          a line may be empty or end in a comment (# ...)
line       = name, { ",", name }, "=", expression
expression = comparison, with the operators  or and not  < <= > >= == !=  + - * / @  unary -  ** (tightest)
primary    = number | name | call | "(", expression, ")"  , then any number of  .T  .method(...)  [index]
call       = op, "(", arguments, ")"          arguments are expressions, keyword attributes are literals
literal    = number | string | true | false | null | "[", literals, "]" | "(", literals, ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from engine.core.errors import DocumentError, EngineError, Finding, nearest
from engine.core.registry import lookup
from engine.graph.definition import Definition, NodeSpec
from engine.graph.limits import GraphLimits

TOKEN = re.compile(
    r"[ \t\r]*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<string>'[^'\\\n]*'|\"[^\"\\\n]*\")|(?P<operator>\*\*|<=|>=|==|!=|[-+*/@<>=()\[\],.:])|(?P<comment>\#[^\n]*)"
    r"|(?P<newline>\n|;))",
    re.ASCII,
)
BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "div", "@": "matmul"}
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
RESERVED = ("and", "or", "not", *WORDS)
DEPTH = 64

Reference = str | float | int


class Token(NamedTuple):
    """One token with its line and the column of its first character, both counted from 1."""

    kind: str
    text: str
    line: int
    column: int


def parse_program(text: Any, draft: Definition, limits: GraphLimits) -> Definition:
    """Return `draft` with the nodes of a program; its loss is the name `loss`, its outputs are that and unused names.

    Raises:
        DocumentError: with the pointer /program, the line and the column.
    """
    if not isinstance(text, str):
        raise DocumentError([Finding("/program", "type_mismatch", "must be text")])
    limits.check_count("/program", "characters", len(text), limits.program_characters)
    parser = _Parser(tokenize(text, limits), draft, limits)
    parser.lines()
    losses = ("loss",) if "loss" in parser.assigned else ()
    unused = tuple(name for name in parser.assigned if name not in parser.used and name not in losses)
    return replace(draft, nodes=tuple(parser.nodes), losses=losses, outputs=losses + unused)


def tokenize(text: str, limits: GraphLimits) -> list[Token]:
    """Cut the text into tokens; an error for a character no token starts with, and for too many tokens."""
    tokens, position, line, start = [], 0, 1, 0
    text = text.rstrip(" \t\r\n;")
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            rest = text[position:].lstrip(" \t\r")
            if not rest:
                break
            strange = Token("", rest[0], line, len(text) - len(rest) - start + 1)
            raise _fault(strange, f"unexpected character {rest[0]!r}")
        kind = match.lastgroup or ""
        if kind != "comment":
            tokens.append(Token(kind, match.group(kind), line, match.start(kind) - start + 1))
            limits.check_count("/program", "tokens", len(tokens), limits.program_tokens)
        position = match.end()
        if match.group(kind) == "\n":
            line, start = line + 1, position
    column = len(text) - start + 1
    return [*tokens, Token("newline", "\n", line, column), Token("end", "", line, column)]


def _fault(at: Token, detail: str, code: str = "syntax") -> DocumentError:
    finding = Finding("/program", code, f"line {at.line}: {detail}", line=at.line, column=at.column)
    return DocumentError([finding])


class _Parser:
    """Recursive descent with one token of look-ahead; depth is bounded, so hostile nesting is an error."""

    def __init__(self, tokens: list[Token], draft: Definition, limits: GraphLimits) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.limits = limits
        self.nodes: list[NodeSpec] = []
        self.leaves = {*draft.inputs, *draft.parameters, *draft.buffers, *draft.constants}
        self.assigned: dict[str, Reference] = {}
        self.used: set[str] = set()
        self.counts: dict[str, int] = {}

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def lines(self) -> None:
        while self.token.kind != "end":
            if self.token.kind == "newline":
                self.position += 1
            else:
                self.assignment()

    def assignment(self) -> None:
        at = self.token
        names = {self.new_name(): None}
        while self.take(","):
            again = self.token
            if (name := self.new_name()) in names:
                raise _fault(again, f"the name {again.text!r} is assigned to twice; give each result a name of its own")
            names[name] = None
        if not self.take("="):
            raise self.unexpected("'=' after the name")
        value = self.expression()
        if self.token.kind != "newline":
            raise self.unexpected("the end of the line")
        if len(names) == 1:
            (name,) = names
            self.assigned[name] = self.rename(name, value, at)
        else:
            for index, name in enumerate(names):
                self.assigned[name] = self.rename(name, f"{value}:{index}", at)

    def rename(self, name: str, value: Reference, at: Token) -> Reference:
        """Name the last node after the assigned variable; a bare name or number becomes a copy node."""
        fresh = isinstance(value, str) and self.nodes and self.nodes[-1].name == value and value not in self.assigned
        if fresh:
            self.nodes[-1] = replace(self.nodes[-1], name=name)
            return name
        return self.node("copy", [value], {}, at, name)

    def new_name(self) -> str:
        token = self.token
        if token.kind != "name" or token.text in RESERVED:
            raise self.unexpected("a name to assign to")
        if token.text in self.leaves or token.text in self.assigned:
            raise _fault(token, f"the name {token.text!r} is already taken")
        if len(token.text) > self.limits.name_bytes:
            raise _fault(token, f"a name has at most {self.limits.name_bytes} characters")
        self.position += 1
        return token.text

    def node(self, op: str, operands: list[Reference], attrs: dict[str, Any], at: Token, name: str = "") -> str:
        self.limits.check_count("/program", "nodes", len(self.nodes) + 1, self.limits.nodes)
        while not name or name in self.leaves:
            self.counts[op] = self.counts.get(op, 0) + 1
            name = f"{op}.{self.counts[op]}"
        self.nodes.append(NodeSpec(name, op, tuple(operands), attrs, "/program", f"line {at.line}: ", at[2:]))
        return name

    def expression(self) -> Reference:
        self.depth += 1
        if self.depth > DEPTH:
            raise _fault(self.token, f"expressions nest at most {DEPTH} deep")
        result = self.disjunction()
        self.depth -= 1
        return result

    def disjunction(self) -> Reference:
        left = self.conjunction()
        while self.word("or"):
            left = self.node("logical_or", [left, self.conjunction()], {}, self.token)
        return left

    def conjunction(self) -> Reference:
        left = self.negation()
        while self.word("and"):
            left = self.node("logical_and", [left, self.negation()], {}, self.token)
        return left

    def negation(self) -> Reference:
        count = 0
        while self.word("not"):
            count += 1
        result = self.comparison()
        for _ in range(count):
            result = self.node("logical_not", [result], {}, self.token)
        return result

    def comparison(self) -> Reference:
        left = self.chain(self.term, ("+", "-"))
        at = self.token
        if at.kind == "operator" and at.text in COMPARISONS:
            self.position += 1
            left = self.node(COMPARISONS[at.text], [left, self.chain(self.term, ("+", "-"))], {}, at)
        return left

    def term(self) -> Reference:
        return self.chain(self.factor, ("*", "/", "@"))

    def chain(self, part: Callable[[], Reference], operators: tuple[str, ...]) -> Reference:
        left = part()
        while self.token.kind == "operator" and self.token.text in operators:
            at = self.token
            self.position += 1
            left = self.node(BINARY[at.text], [left, part()], {}, at)
        return left

    def factor(self) -> Reference:
        at, signs = self.token, 0
        while self.token.text in ("-", "+") and self.token.kind == "operator":
            signs += self.token.text == "-"
            self.position += 1
        result = self.power()
        if signs % 2 == 0:
            return result
        return -result if isinstance(result, int | float) else self.node("neg", [result], {}, at)

    def power(self) -> Reference:
        base = self.postfix()
        at = self.token
        if not self.take("**"):
            return base
        self.depth += 1
        if self.depth > DEPTH:
            raise _fault(at, f"expressions nest at most {DEPTH} deep")
        exponent = self.factor()
        self.depth -= 1
        return self.node("pow", [base, exponent], {}, at)

    def postfix(self) -> Reference:
        result = self.primary()
        while self.token.text in (".", "[") and self.token.kind == "operator":
            at = self.token
            self.position += 1
            if self.tokens[self.position - 1].text == "[":
                result = self.index(result, at)
            elif self.word("T"):
                result = self.node("transpose", [result], {}, at)
            else:
                result = self.call(self.op_name(), [result])
        return result

    def primary(self) -> Reference:
        token = self.token
        self.position += 1
        if token.kind == "number":
            return _number(token)
        if token.kind == "operator" and token.text == "(":
            result = self.expression()
            if not self.take(")"):
                raise self.unexpected("')'")
            return result
        if token.kind != "name" or token.text in RESERVED:
            self.position -= 1
            raise self.unexpected("a number, a name or '('")
        if self.token.text == "(" and self.token.kind == "operator":
            self.position -= 1
            return self.call(self.op_name(), [])
        return self.reference(token)

    def reference(self, token: Token) -> Reference:
        self.used.add(token.text)
        if token.text in self.assigned:
            return self.assigned[token.text]
        if token.text in self.leaves:
            return token.text
        known = [*self.leaves, *self.assigned]
        raise _fault(
            token, f"{token.text!r} is not known{nearest(token.text, known) or _listed(known)}", "unknown_name"
        )

    def op_name(self) -> Token:
        token = self.token
        try:
            if token.kind == "name":
                lookup(token.text)
                self.position += 1
                return token
        except EngineError as error:
            raise _fault(token, str(error), error.code) from error
        raise self.unexpected("the name of an op")

    def call(self, name: Token, operands: list[Reference]) -> Reference:
        attrs: dict[str, Any] = {}
        if not self.take("("):
            raise self.unexpected("'('")
        while not self.take(")"):
            following = self.tokens[self.position + 1]
            if self.token.kind == "name" and following.kind == "operator" and following.text == "=":
                attribute = self.token.text
                if attribute in attrs:
                    raise _fault(name, f"{attribute!r} is given twice")
                self.position += 2
                attrs[attribute] = self.literal()
            elif attrs:
                raise _fault(self.token, "inputs come before keyword attributes")
            else:
                operands.append(self.expression())
            if not self.take(",") and self.token.text != ")":
                raise self.unexpected("',' or ')'")
        return self.node(lookup(name.text).name, operands, attrs, name)

    def index(self, value: Reference, at: Token) -> Reference:
        """Read [entry, ...] where an entry is an integer or start:stop, and cut the leading axes."""
        axis = 0
        while True:
            if self.token.text == ":" or self.tokens[self.position + (1 + (self.token.text == "-"))].text == ":":
                value = self.cut(value, axis, at)
                axis += 1
            else:
                start = self.integer()
                stop = None if start == -1 else start + 1
                value = self.node("slice", [value], {"axis": axis, "start": start, "stop": stop}, at)
                value = self.node("squeeze", [value], {"axis": axis}, at)
            if self.take("]"):
                return value
            if not self.take(","):
                raise self.unexpected("',' or ']'")

    def cut(self, value: Reference, axis: int, at: Token) -> Reference:
        start = None if self.token.text == ":" else self.integer()
        if not self.take(":"):
            raise self.unexpected("':'")
        stop = None if self.token.text in (",", "]") else self.integer()
        if start is None and stop is None:
            return value
        return self.node("slice", [value], {"axis": axis, "start": start, "stop": stop}, at)

    def integer(self) -> int:
        negative = self.take("-")
        number = _number(self.token) if self.token.kind == "number" else None
        if not isinstance(number, int):
            raise self.unexpected("an integer")
        self.position += 1
        return -number if negative else number

    def literal(self) -> Any:
        self.depth += 1
        if self.depth > DEPTH:
            raise _fault(self.token, f"lists nest at most {DEPTH} deep")
        try:
            return self.literal_value()
        finally:
            self.depth -= 1

    def literal_value(self) -> Any:
        token = self.token
        if token.kind == "operator" and token.text in ("[", "("):
            self.position += 1
            closing, items = {"[": "]", "(": ")"}[token.text], []
            while not self.take(closing):
                items.append(self.literal())
                if not self.take(",") and self.token.text != closing:
                    raise self.unexpected(f"',' or {closing!r}")
            return items
        negative = self.take("-")
        token = self.token
        self.position += 1
        if token.kind == "number":
            number = _number(token)
            return -number if negative else number
        if not negative and token.kind == "string":
            return token.text[1:-1]
        if not negative and token.kind == "name" and token.text in WORDS:
            return WORDS[token.text]
        self.position -= 1
        raise self.unexpected("a number, a string, true, false, null or a list")

    def take(self, text: str) -> bool:
        found = self.token.kind == "operator" and self.token.text == text
        self.position += found
        return found

    def word(self, text: str) -> bool:
        found = self.token.kind == "name" and self.token.text == text
        self.position += found
        return found

    def unexpected(self, wanted: str) -> DocumentError:
        token = self.token
        shown = "the end of the line" if token.kind in ("newline", "end") else repr(token.text[:40])
        return _fault(token, f"expected {wanted}, found {shown}")


def _number(token: Token) -> int | float:
    text = token.text
    number: int | float = float(text) if any(c in text for c in ".eE") or len(text) > 18 else int(text)
    if number == float("inf"):
        raise _fault(token, f"{text[:40]} is too large for a float64")
    return number


def _listed(names: list[str]) -> str:
    """Return which names are known, as the end of a sentence; the first ones of many."""
    return f"; known are {', '.join(names[:20])}" if names else ""
