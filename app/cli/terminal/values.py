"""Values as people read them: ages, durations, sizes, numbers, labels, and whole documents."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from app.domain.clock import SystemClock, read_rfc3339

NONE = "-"
"""What stands where there is no value."""

UNITS = (("d", 86_400), ("h", 3600), ("min", 60))
TWO_OF_A_UNIT = 2
"""A unit is used from twice its length on: 90 s rather than 1 min."""
KILO = 1000
INDENT = "  "


def duration(seconds: float | None) -> str:
    """Format a number of seconds: `48 s`, `3 min`, `5 h`, `12 d`."""
    if seconds is None:
        return NONE
    unit, length = next((each for each in UNITS if seconds >= TWO_OF_A_UNIT * each[1]), ("s", 1))
    return f"{max(0, int(seconds // length))} {unit}"


def age(moment: str | None, now: datetime | None = None) -> str:
    """Format how long ago a moment of the interface is."""
    if moment is None:
        return NONE
    return duration(((now or SystemClock().now()) - read_rfc3339(moment)).total_seconds())


def size(count: int | None) -> str:
    """Format a number of bytes: `512 B`, `1.3 MB`."""
    if count is None:
        return NONE
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= KILO and len(units) > 1:
        value, units = value / KILO, units[1:]
    return f"{count} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


def number(value: float | None) -> str:
    """Format a number with four significant digits."""
    return NONE if value is None else f"{value:.4g}"


def labels(found: Mapping[str, str]) -> str:
    """Format labels as `--label` takes them: `team:vision,run:3`."""
    return ",".join(f"{name}:{value}" for name, value in found.items()) or NONE


def describe(document: Mapping[str, Any], hidden: Sequence[str] = ("object", "links")) -> Iterator[str]:
    """Yield the lines that show a document: a name and its value each, what lies within indented."""
    shown = {name: value for name, value in document.items() if name not in hidden}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        nested = _nested(value)
        if nested:
            yield f"{name}:"
            yield from (INDENT + line for line in nested)
        else:
            yield f"{name + ':':<{width + 1}} {_scalar(name, value)}"


def _nested(value: Any) -> list[str]:
    """Return the lines of an object, or of a list of objects; none for a value that takes one line."""
    if isinstance(value, Mapping):
        return list(describe(value, ()))
    if isinstance(value, Sequence) and value and all(isinstance(item, Mapping) for item in value):
        return [f"- {json.dumps(item, ensure_ascii=False)}" for item in value]
    return []


def _scalar(name: str, value: Any) -> str:
    if value is None or value in ({}, []):
        return NONE
    if isinstance(value, str):
        return f"{value} ({age(value)} ago)" if name.endswith("_at") else value
    if isinstance(value, int) and name.endswith("_bytes"):
        return f"{value} ({size(value)})"
    return json.dumps(value, ensure_ascii=False)
