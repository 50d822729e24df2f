"""Bounds on what options may hold, so that none of them takes long to read: far beyond what anybody means."""

from typing import Any

from pydantic_core import PydanticCustomError

VALUES_MAX = 5_000
TEXT_MAX = 1024


def bounded(value: Any) -> Any:
    """Return a JSON value that holds at most 5,000 values, and no text or name of more than 1024 characters.

    Raises:
        PydanticCustomError: it holds more.
    """
    waiting, count = [value], 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and len(item) > TEXT_MAX:
            raise PydanticCustomError("too_long", "holds a text of more than {limit} characters", {"limit": TEXT_MAX})
        inner = [*item, *item.values()] if isinstance(item, dict) else item if isinstance(item, list) else ()
        count += len(inner)
        if count > VALUES_MAX:
            raise PydanticCustomError("too_long", "holds more than {limit} values", {"limit": VALUES_MAX})
        waiting.extend(inner)
    return value
