"""The `program` form of a graph: assignments and expressions of a closed grammar, parsed to nodes, never evaluated.

program    = line, { newline, line }          a line may be empty or end in a comment (# ...)
line       = name, { ",", name }, "=", expression
expression = comparison, with the operators  or and not  < <= > >= == !=  + - * / @  unary -  ** (tightest)
primary    = number | name | call | "(", expression, ")"  , then any number of  .T  .method(...)  [index]
call       = op, "(", arguments, ")"          arguments are expressions, keyword attributes are literals
literal    = number | string | true | false | null | "[", literals, "]" | "(", literals, ")"
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.core.errors import DocumentError, EngineError, Finding, nearest
from engine.core.registry import lookup
from engine.graph.definition import Definition, NodeSpec
from engine.graph.limits import GraphLimits
from engine.graph.program_tokens import Tokens, tokenize

OR, AND, NOT, COMPARISON, SUM, PRODUCT = range(1, 7)
"""How tightly operators bind."""
OPERATORS = {
    "or": (OR, "logical_or"),
    "and": (AND, "logical_and"),
    "<": (COMPARISON, "lt"),
    "<=": (COMPARISON, "le"),
    ">": (COMPARISON, "gt"),
    ">=": (COMPARISON, "ge"),
    "==": (COMPARISON, "eq"),
    "!=": (COMPARISON, "ne"),
    "+": (SUM, "add"),
    "-": (SUM, "sub"),
    "*": (PRODUCT, "mul"),
    "/": (PRODUCT, "div"),
    "@": (PRODUCT, "matmul"),
}
"""The operators between two operands: how tightly each binds, and its op."""
NO_OPERATOR = (0, "")
WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
RESERVED = frozenset({"and", "or", "not", *WORDS})
DEPTH = 64
INDEX_HINTS = {
    "None": " (unsqueeze(x, axis=0) adds an axis)",
    ".": " (an index names axes from the first one on; slice(x, axis=-1, start=0, stop=1) cuts another)",
    ":": " (slice(x, axis=0, step=2) takes every second element)",
}
"""What to write for what NumPy's indices have beside integers and slices without a step."""

Reference = str | float | int


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
    return replace(draft, nodes=parser.nodes(), losses=losses, outputs=losses + unused)


class _Parser:
    """Recursive descent with one token of look-ahead; depth is bounded, so hostile nesting is an error.

    A node is named by the assignment that it is the value of, which is known after the node: names are kept apart from
    what else nodes are made of.
    """

    def __init__(self, tokens: Tokens, draft: Definition, limits: GraphLimits) -> None:
        self.tokens = tokens
        self.texts = tokens.texts
        self.position = 0
        self.depth = 0
        self.limits = limits
        self.names: list[str] = []
        self.unnamed: list[tuple[str, list[Reference], dict[str, Any], int]] = []
        self.leaves = {*draft.inputs, *draft.parameters, *draft.buffers, *draft.constants}
        self.assigned: dict[str, Reference] = {}
        self.used: set[str] = set()
        self.counts: dict[str, int] = {}

    @property
    def text(self) -> str:
        return self.texts[self.position]

    @property
    def kind(self) -> str:
        return self.tokens.kinds[self.position]

    def nodes(self) -> tuple[NodeSpec, ...]:
        """Return the nodes in order."""
        lines, columns = self.tokens.lines, self.tokens.columns
        return tuple(
            [
                NodeSpec(name, op, tuple(operands), attrs, "/program", f"line {lines[at]}: ", (lines[at], columns[at]))
                for name, (op, operands, attrs, at) in zip(self.names, self.unnamed, strict=True)
            ]
        )

    def lines(self) -> None:
        while (kind := self.kind) != "end":
            if kind == "newline":
                self.position += 1
            else:
                self.assignment()

    def assignment(self) -> None:
        at = self.position
        names = {self.new_name(): None}
        while self.take(","):
            again = self.position
            if (name := self.new_name()) in names:
                raise self.tokens.fault(
                    again, f"the name {name!r} is assigned to twice; give each result a name of its own"
                )
            names[name] = None
        if not self.take("="):
            raise self.unexpected("'=' after the name")
        value = self.expression()
        if self.kind != "newline":
            raise self.unexpected("the end of the line")
        if len(names) == 1:
            (name,) = names
            self.assigned[name] = self.rename(name, value, at)
        else:
            for index, name in enumerate(names):
                self.assigned[name] = self.rename(name, f"{value}:{index}", at)

    def rename(self, name: str, value: Reference, at: int) -> Reference:
        """Name the last node after the assigned variable; a bare name or number becomes a copy node."""
        fresh = isinstance(value, str) and self.names and self.names[-1] == value and value not in self.assigned
        if fresh:
            self.names[-1] = name
            return name
        return self.node("copy", [value], {}, at, name)

    def new_name(self) -> str:
        at, name = self.position, self.text
        if self.kind != "name" or name in RESERVED:
            raise self.unexpected("a name to assign to")
        if name in self.leaves or name in self.assigned:
            raise self.tokens.fault(at, f"the name {name!r} is already taken")
        if len(name) > self.limits.name_bytes:
            raise self.tokens.fault(at, f"a name has at most {self.limits.name_bytes} characters")
        self.position += 1
        return name

    def node(self, op: str, operands: list[Reference], attrs: dict[str, Any], at: int, name: str = "") -> str:
        self.limits.check_count("/program", "nodes", len(self.names) + 1, self.limits.nodes)
        while not name or name in self.leaves:
            self.counts[op] = self.counts.get(op, 0) + 1
            name = f"{op}.{self.counts[op]}"
        self.names.append(name)
        self.unnamed.append((op, operands, attrs, at))
        return name

    def expression(self) -> Reference:
        self.depth += 1
        if self.depth > DEPTH:
            raise self.tokens.fault(self.position, f"expressions nest at most {DEPTH} deep")
        result = self.operation(OR)
        self.depth -= 1
        return result

    def operation(self, least: int) -> Reference:
        """Read an operand, and what operators that bind at least that tightly make of it.

        Operators of one kind are applied from left to right; a comparison is no operand of another one.
        """
        if least <= NOT and self.text == "not":
            left, most = self.negation(), AND
        else:
            left, most = self.factor(), PRODUCT
        while True:
            level, op = OPERATORS.get(self.text, NO_OPERATOR)
            if not least <= level <= most:
                return left
            at = self.position
            self.position += 1
            operands = [left, self.operation(level + 1)]
            left = self.node(op, operands, {}, at if level > NOT else self.position)
            most = level - 1 if level == COMPARISON else level

    def negation(self) -> Reference:
        count = 0
        while self.take("not"):
            count += 1
        result = self.operation(COMPARISON)
        for _ in range(count):
            result = self.node("logical_not", [result], {}, self.position)
        return result

    def factor(self) -> Reference:
        at, signs = self.position, 0
        while (sign := self.text) == "-" or sign == "+":
            signs += sign == "-"
            self.position += 1
        result = self.power()
        if signs % 2 == 0:
            return result
        return -result if isinstance(result, int | float) else self.node("neg", [result], {}, at)

    def power(self) -> Reference:
        base = self.postfix()
        at = self.position
        if not self.take("**"):
            return base
        self.depth += 1
        if self.depth > DEPTH:
            raise self.tokens.fault(at, f"expressions nest at most {DEPTH} deep")
        exponent = self.factor()
        self.depth -= 1
        return self.node("pow", [base, exponent], {}, at)

    def postfix(self) -> Reference:
        result = self.primary()
        while (text := self.text) == "." or text == "[":
            at = self.position
            self.position += 1
            if text == "[":
                result = self.index(result, at)
            elif self.take("T"):
                result = self.node("transpose", [result], {}, at)
            else:
                result = self.call([result])
        return result

    def primary(self) -> Reference:
        at, text, kind = self.position, self.text, self.kind
        if kind == "number":
            self.position += 1
            return self.number(at)
        if text == "(":
            self.position += 1
            result = self.expression()
            if not self.take(")"):
                raise self.unexpected("')'")
            return result
        if kind != "name" or text in RESERVED:
            rounded = text == self.texts[at - 1] == "/"
            hint = " (floor_divide(x, y) is the quotient rounded down)" if rounded else ""
            raise self.unexpected(f"a number, a name or '('{hint}")
        if self.texts[at + 1] == "(":
            return self.call([])
        self.position += 1
        return self.reference(at)

    def reference(self, at: int) -> Reference:
        name = self.texts[at]
        self.used.add(name)
        if name in self.assigned:
            return self.assigned[name]
        if name in self.leaves:
            return name
        known = [*self.leaves, *self.assigned]
        detail = f"{name!r} is not known{nearest(name, known) or _listed(known)}"
        raise self.tokens.fault(at, detail, "unknown_name")

    def op_name(self) -> str:
        try:
            if self.kind == "name":
                op = lookup(self.text)
                self.position += 1
                return op.name
        except EngineError as error:
            raise self.tokens.fault(self.position, str(error), error.code) from error
        raise self.unexpected("the name of an op")

    def call(self, operands: list[Reference]) -> Reference:
        """Read the name of an op and its arguments, and add the node; `operands` come before the others."""
        at, op = self.position, self.op_name()
        attrs: dict[str, Any] = {}
        if not self.take("("):
            raise self.unexpected("'('")
        while not self.take(")"):
            if self.texts[self.position + 1] == "=" and self.kind == "name":
                attribute = self.text
                if attribute in attrs:
                    raise self.tokens.fault(at, f"{attribute!r} is given twice")
                self.position += 2
                attrs[attribute] = self.literal()
            elif attrs:
                raise self.tokens.fault(self.position, "inputs come before keyword attributes")
            else:
                operands.append(self.expression())
            if not self.take(",") and self.text != ")":
                raise self.unexpected("',' or ')'")
        return self.node(op, operands, attrs, at)

    def index(self, value: Reference, at: int) -> Reference:
        """Read [entry, ...] where an entry is an integer or start:stop, and cut the leading axes."""
        axis = 0
        while True:
            if self.text == ":" or self.texts[self.position + (1 + (self.text == "-"))] == ":":
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
                raise self.unexpected("',' or ']'" + INDEX_HINTS.get(self.text, ""))

    def cut(self, value: Reference, axis: int, at: int) -> Reference:
        start = None if self.text == ":" else self.integer()
        if not self.take(":"):
            raise self.unexpected("':'")
        stop = None if self.text in (",", "]") else self.integer()
        if start is None and stop is None:
            return value
        return self.node("slice", [value], {"axis": axis, "start": start, "stop": stop}, at)

    def integer(self) -> int:
        negative = self.take("-")
        number = self.number(self.position) if self.kind == "number" else None
        if not isinstance(number, int):
            raise self.unexpected("an integer" + INDEX_HINTS.get(self.text, ""))
        self.position += 1
        return -number if negative else number

    def number(self, at: int) -> int | float:
        text = self.texts[at]
        number: int | float = float(text) if any(c in text for c in ".eE") or len(text) > 18 else int(text)
        if number == float("inf"):
            raise self.tokens.fault(at, f"{text[:40]} is too large for a float64")
        return number

    def literal(self) -> Any:
        self.depth += 1
        if self.depth > DEPTH:
            raise self.tokens.fault(self.position, f"lists nest at most {DEPTH} deep")
        try:
            return self.literal_value()
        finally:
            self.depth -= 1

    def literal_value(self) -> Any:
        text = self.text
        if text in ("[", "("):
            self.position += 1
            closing, items = {"[": "]", "(": ")"}[text], []
            while not self.take(closing):
                items.append(self.literal())
                if not self.take(",") and self.text != closing:
                    raise self.unexpected(f"',' or {closing!r}")
            return items
        negative = self.take("-")
        at, text, kind = self.position, self.text, self.kind
        self.position += 1
        if kind == "number":
            number = self.number(at)
            return -number if negative else number
        if not negative and kind == "string":
            return text[1:-1]
        if not negative and kind == "name" and text in WORDS:
            return WORDS[text]
        self.position -= 1
        raise self.unexpected("a number, a string, true, false, null or a list")

    def take(self, text: str) -> bool:
        """Pass the next token if it is this operator or word; return whether it was."""
        found = self.texts[self.position] == text
        self.position += found
        return found

    def unexpected(self, wanted: str) -> DocumentError:
        shown = "the end of the line" if self.kind in ("newline", "end") else repr(self.text[:40])
        return self.tokens.fault(self.position, f"expected {wanted}, found {shown}")


def _listed(names: list[str]) -> str:
    """Return which names are known, as the end of a sentence; the first ones of many."""
    return f"; known are {', '.join(names[:20])}" if names else ""
