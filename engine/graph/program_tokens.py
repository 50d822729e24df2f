"""The tokens of a program, the text form of a graph (see `engine.graph.expression_parser`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.core.errors import DocumentError, Finding
from engine.graph.limits import GraphLimits

TOKEN = re.compile(
    r"[ \t\r]*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<string>'[^'\\\n]*'|\"[^\"\\\n]*\")|(?P<operator>\*\*|<=|>=|==|!=|[-+*/@<>=()\[\],.:])|(?P<comment>\#[^\n]*)"
    r"|(?P<newline>\n|;)|(?P<strange>.))",
    re.ASCII,
)

INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "&": "'and', or bitwise_and(x, y) of integers",
        "|": "'or', or bitwise_or(x, y) of integers",
        "~": "'not', or bitwise_not(x) of integers",
        "^": "x ** y, or bitwise_xor(x, y)",
        "%": "remainder(x, y)",
        "!": "'not'",
        "?": "where(condition, x, y)",
    }
)
"""What to write for operators of other languages."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a program by position; the last two are a newline and the end.

    The text of a token says what it is, except for names and numbers: a string has its quotes, the end is empty.

    Attributes:
        kinds: number, name, string, operator, newline or end.
        texts: what stands in the program.
        lines: the line of each token, counted from 1.
        columns: the column of its first character, counted from 1.
    """

    kinds: list[str]
    texts: list[str]
    lines: list[int]
    columns: list[int]

    def fault(self, position: int, detail: str, code: str = "syntax") -> DocumentError:
        """Return an error at the token of this position."""
        return fault_at(self.lines[position], self.columns[position], detail, code)


def tokenize(text: str, limits: GraphLimits) -> Tokens:
    """Cut the text into tokens; an error for a character no token starts with, and for too many tokens."""
    kinds: list[str] = []
    texts: list[str] = []
    lines: list[int] = []
    columns: list[int] = []
    line, start, limit = 1, 0, limits.program_tokens
    text = text.rstrip(" \t\r\n;")
    for match in TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "comment":
            continue
        found, end = match[kind], match.end()
        column = end - len(found) - start + 1
        if kind == "strange":
            hint = f"; write {INSTEAD[found]}" if found in INSTEAD else ""
            raise fault_at(line, column, f"unexpected character {found!r}{hint}")
        kinds.append(kind)
        texts.append(found)
        lines.append(line)
        columns.append(column)
        if len(kinds) > limit:
            limits.check_count("/program", "tokens", len(kinds), limit)
        if found == "\n":
            line, start = line + 1, end
    column = len(text) - start + 1
    return Tokens([*kinds, "newline", "end"], [*texts, "\n", ""], [*lines, line, line], [*columns, column, column])


def fault_at(line: int, column: int, detail: str, code: str = "syntax") -> DocumentError:
    """Return an error at a place in the program."""
    return DocumentError([Finding("/program", code, f"line {line}: {detail}", line=line, column=column)])
