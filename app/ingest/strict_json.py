"""JSON without its ambiguities: no NaN, no duplicate keys, bounded depth, no lone surrogates, UTF-8 only."""

import json
import re
from typing import Any, NoReturn

import numpy as np

from app.domain.documents import escape
from app.ingest.limits import IngestError

_CHUNK = 1 << 20
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # UTF-8 itself has none
_STEP = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # +1 and -1 as int8
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


def parse_json(data: bytes, max_depth: int, pointer: str = "", max_keys: int | None = None) -> Any:
    """The value that `data` holds, of at most `max_keys` keys in all its objects; `pointer` is named by errors."""
    if max_keys is not None and data.count(b":") > max_keys and _outside_strings(data).count(b":") > max_keys:
        raise IngestError("too_many_fields", pointer, f"objects have more than {max_keys} keys in all; send fewer")
    if data.count(b"[") + data.count(b"{") > max_depth and _depth(data) > max_depth:
        raise IngestError("too_deep", pointer, f"JSON is nested deeper than {max_depth}; send flat data and its shape")
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise IngestError("bad_utf8", pointer, "the text is not UTF-8; save it in that encoding") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise IngestError("bad_json", pointer, f"this is not JSON: {error.msg} ({where})") from None
    except IngestError as error:
        raise IngestError(error.code, pointer, error.detail) from None
    except ValueError:  # an integer of more digits than Python converts
        raise IngestError("number_out_of_range", pointer, "an integer has thousands of digits") from None
    if _SURROGATE.search(data) is not None:
        _check_texts(value, pointer)
    return value


def _check_texts(value: Any, pointer: str) -> None:
    """Refuse halves of surrogate pairs in keys and texts; nesting is bounded by now."""
    if type(value) is str:
        if not _is_whole(value):
            raise IngestError("bad_unicode", pointer, "a text holds half of a surrogate pair; send whole ones")
    elif type(value) is list:
        for place, item in enumerate(value):
            _check_texts(item, f"{pointer}/{place}")
    elif type(value) is dict:
        for name, item in value.items():
            _check_texts(name, pointer)
            _check_texts(item, f"{pointer}/{escape(name)}")


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _outside_strings(data: bytes) -> bytes:
    """Return what stands outside strings; of those that end, where the text is no JSON."""
    if b"\\" not in data and data.count(b'"') % 2 == 0:  # each string is what stands between two quotes
        return b"".join(data.split(b'"')[::2])
    return _STRING.sub(b"", data)


def _depth(data: bytes) -> int:
    """Deepest nesting of brackets outside strings, counted without recursion."""
    steps = _outside_strings(data).translate(_STEP, _NOT_BRACKETS)
    depth = deepest = 0
    for start in range(0, len(steps), _CHUNK):
        depths = np.frombuffer(steps[start : start + _CHUNK], np.int8).cumsum(dtype=np.int64) + depth
        depth, deepest = int(depths[-1]), max(deepest, int(depths.max()))
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise IngestError("duplicate_key", "", "an object holds the same key twice; keep one of them")
    return result


def _refuse_constant(_text: str) -> NoReturn:
    raise IngestError("bad_json", "", "JSON has no NaN and no Infinity; write null for a missing value")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)
