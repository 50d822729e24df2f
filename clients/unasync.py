"""Makes blocking code of asyncio code, token by token, so that the client is written once."""

import io
import re
import tokenize

_DROPPED = frozenset({"async", "await"})
_RENAMED = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "_async": "_sync",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "aread": "read",
    "asynccontextmanager": "contextmanager",
    "asyncio": "time",  # of which only sleep is used
}
_CLASS = re.compile(r"\bAsync(?=[A-Z])")


def unasync(source: str) -> str:
    """Return `source` without async and await, and with the blocking name of everything that has one.

    In strings, docstrings among them, only the names of classes change.
    """
    lines = source.splitlines(keepends=True)
    # From the end, so that the places of the tokens before stay right.
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
        if token.type == tokenize.NAME:
            _replace(lines, token, _RENAMED.get(token.string, _CLASS.sub("", token.string)))
        elif token.type == tokenize.STRING:
            _replace(lines, token, _CLASS.sub("", token.string))
    return "".join(lines)


def _replace(lines: list[str], token: tokenize.TokenInfo, text: str) -> None:
    (row, begin), (last_row, end) = token.start, token.end
    rest = lines[last_row - 1][end:]
    if token.string in _DROPPED:
        text, rest = "", rest.removeprefix(" ")
    lines[row - 1 : last_row] = (lines[row - 1][:begin] + text + rest).splitlines(keepends=True)
