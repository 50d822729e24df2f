"""JSON of plain documents that may hold arrays."""

from collections.abc import Callable
from typing import Any

import orjson

_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def _list(array: Any) -> Any:
    # Of a type or a layout that orjson does not encode.
    return array.tolist()


def json_body(document: Any, plain: Callable[[Any], Any] = _list) -> bytes:
    """Encode a document as UTF-8 JSON; what is not a finite number becomes null.

    `plain` makes plain data of what is neither that nor an array of a usual type in row-major order.
    """
    return orjson.dumps(document, default=plain, option=_OPTIONS)
