"""JSON bodies without ambiguities: what two readers could understand differently is refused.

Duplicate keys, NaN and Infinity, bad UTF-8 and deep nesting are refused by the reader that uploads pass too; numbers
that no reader could hold, lone surrogates and NUL are refused here.
"""

from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any

from app.domain.documents import escape
from app.domain.errors import Finding, Unparsable
from app.ingest.limits import IngestError
from app.ingest.strict_json import parse_json

INTEGER_MAX = 2**64
_NUMBERS = frozenset({int, float})


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """How deep JSON may be nested, how many keys its objects may have in all, and how long a text may be."""

    depth: int = 64
    fields: int = 100_000
    text_characters: int = 2**20


DEFAULTS = JsonLimits()


def read_json(body: bytes, limits: JsonLimits = DEFAULTS) -> Any:
    """Return what `body` says; Unparsable, with the place where it is known, if it is refused."""
    if not body.strip():
        raise _refused("", "empty", "the body is empty; send a JSON object")
    try:
        document = parse_json(body, limits.depth, max_keys=limits.fields)
    except IngestError as error:
        raise _refused(error.pointer, error.code, error.detail) from error
    except RecursionError as error:
        raise _refused("", "too_deep", f"JSON is nested deeper than {limits.depth}") from error
    if not _is_clean(document, limits.text_characters):
        _check(document, "", limits.text_characters)
    return document


def _is_clean(document: Any, longest: int) -> bool:
    """Return whether it is sure, by a look at all values of one depth at a time, that `_check` refuses nothing."""
    level = [document]
    while level:
        kinds = {*map(type, level)}
        if str in kinds and not _are_clean_texts([item for item in level if type(item) is str], longest):
            return False
        if not kinds.isdisjoint(_NUMBERS) and not _are_held(level, kinds):
            return False
        lists = [item for item in level if type(item) is list] if list in kinds else []
        objects = [item for item in level if type(item) is dict] if dict in kinds else []
        level = [*chain.from_iterable(lists), *chain.from_iterable(objects)]
        level += chain.from_iterable(item.values() for item in objects)
    return True


def _are_clean_texts(texts: list[str], longest: int) -> bool:
    joined = "".join(texts)
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in joined and max(map(len, texts)) <= longest


def _are_held(items: list[Any], kinds: set[type]) -> bool:
    """Return whether 64 bits hold the numbers among `items`, which are of these types."""
    if kinds == {float} and isfinite(sum(items)):
        return True
    numbers = items if kinds <= _NUMBERS else [item for item in items if type(item) in _NUMBERS]
    return bool(min(numbers) > -INTEGER_MAX and max(numbers) < INTEGER_MAX)


def _check(value: Any, pointer: str, longest: int) -> None:
    if isinstance(value, str):
        _check_text(value, pointer, longest)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, pointer, longest)
            _check(item, f"{pointer}/{escape(key)}", longest)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not _is_plain(item):
                _check(item, f"{pointer}/{index}", longest)
    elif not _is_plain(value):
        raise _refused(pointer, "number_out_of_range", "this number is too large; 64 bits must hold it")


def _is_plain(value: Any) -> bool:
    """Whether `value` is a number that 64 bits hold, a truth value or null."""
    if type(value) is float:
        return isfinite(value)
    if type(value) is int:
        return -INTEGER_MAX < value < INTEGER_MAX
    return value is None or type(value) is bool


def _check_text(text: str, pointer: str, longest: int) -> None:
    if len(text) > longest:
        raise _refused(pointer, "text_too_long", f"a text has more than {longest} characters; send a shorter one")
    if text.isascii():
        if "\0" in text:
            raise _refused(pointer, "nul", "a text holds the character U+0000; leave it out")
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _refused(pointer, "bad_unicode", "a text holds half of a surrogate pair; send whole ones") from error
    if "\0" in text:
        raise _refused(pointer, "nul", "a text holds the character U+0000; leave it out")


def _refused(pointer: str, code: str, detail: str) -> Unparsable:
    return Unparsable(detail, code=code, findings=[Finding(pointer, code, detail)])
