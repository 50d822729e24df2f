"""Preprocessing of table columns in plain Python, value by value: what the server's is compared with.

Values are numbers, texts, truth values, or None where one is missing. A transform is a function of the values of the
training rows and of all rows; it returns a list of numbers for each row.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Values = Sequence[Any]
Rows = list[list[float]]
Options = Mapping[str, Any]


def transformed(kind: str, options: Options, train: Values, values: Values, everything: Values) -> Rows:
    """Return what `values` become by the statistics of `train`; `everything` is the column of the whole dataset."""
    return _KINDS[kind](options, train, values, everything)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _deviation(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def _log(value: float) -> float:
    return math.copysign(math.log1p(abs(value)), value)


def _number(options: Options, train: Values, values: Values, _: Values) -> Rows:
    present = sorted(float(value) for value in train if value is not None)
    fill = 0.0
    if options.get("impute") == "constant":
        fill = options.get("value", 0.0)
    elif options.get("impute") is not None:
        counts = Counter(present)
        fill = {
            "mean": lambda: _mean(present),
            "median": lambda: _quantile(present, 0.5),
            "most_frequent": lambda: min(counts, key=lambda value: (-counts[value], value)),
        }[options["impute"]]()
    scale = _scale(options.get("scale", "none"), sorted(fill if value is None else float(value) for value in train))
    rows = [[scale(fill if value is None else float(value))] for value in values]
    if options.get("indicator"):
        rows = [[*row, float(value is None)] for row, value in zip(rows, values, strict=True)]
    return rows


def _scale(kind: str, filled: list[float]) -> Callable[[float], float]:
    if kind == "none":
        return lambda value: value
    if kind == "quantile":
        grid = [_quantile(filled, place / 100) for place in range(101)]
        return lambda value: (_share(grid, value, first=False) + _share(grid, value, first=True)) / 2
    if kind == "log":
        inner = _scale("standard", sorted(map(_log, filled)))
        return lambda value: inner(_log(value))
    low, high = filled[0], filled[-1]
    shift, spread = {
        "standard": lambda: (_mean(filled), _deviation(filled)),
        "minmax": lambda: (low, high - low),
        "robust": lambda: (_quantile(filled, 0.5), _quantile(filled, 0.75) - _quantile(filled, 0.25)),
    }[kind]()
    shift, spread = (shift, spread or 1.0) if low < high else (low, 1.0)
    return lambda value: (value - shift) / spread


def _share(grid: Sequence[float], value: float, *, first: bool) -> float:
    """Return where a value lies among 101 quantiles; of equal ones at the first or at the last."""
    if value < grid[0] or (first and value == grid[0]):
        return 0.0
    if value > grid[-1] or (not first and value == grid[-1]):
        return 1.0
    places = [k for k in range(101) if grid[k] == value]
    if places:
        return (places[0] if first else places[-1]) / 100
    below = max(k for k in range(101) if grid[k] < value)
    return (below + (value - grid[below]) / (grid[below + 1] - grid[below])) / 100


def _category(options: Options, train: Values, values: Values, everything: Values) -> Rows:
    counts = Counter(value for value in train if value not in (None, ""))
    levels = [level for level in counts if counts[level] >= options.get("min_frequency", 1)]
    most = options.get("max_levels", 10_000)
    levels = sorted(sorted(levels, key=lambda level: (-counts[level], level))[:most])
    first = [name for name in ("missing", "unknown") if options.get(name, "level") == "level"]
    frequent = min(counts, key=lambda level: (-counts[level], level)) if counts else None

    def index(value: Any) -> int:
        if value in (None, "") and options.get("missing") == "most_frequent":
            value = frequent
        if value in (None, ""):
            return 0
        return len(first) + levels.index(value) if value in levels else len(first) - 1

    if options.get("encode") == "index":
        return [[index(value)] for value in values]
    present = {value for value in everything if value not in (None, "")}
    spread = max(present) - min(present) + 1 if all(isinstance(value, int) for value in present) else len(present)
    width = len(first) + max(min(spread, most), 1)
    return [[float(place == index(value)) for place in range(width)] for value in values]


def _boolean(options: Options, train: Values, values: Values, _: Values) -> Rows:
    true = {word.lower() for word in options.get("true", ("true", "t", "yes", "y", "on", "1"))}

    def read(value: Any) -> float | None:
        if value in (None, ""):
            return None
        return float(value) if isinstance(value, bool | int | float) else float(value.strip().lower() in true)

    present = [found for found in map(read, train) if found is not None]
    fill = float(_mean(present) > 0.5) if options.get("missing") == "most_frequent" and present else 0.5
    rows = [[fill if (found := read(value)) is None else found] for value in values]
    return (
        [[*row, float(read(v) is None)] for row, v in zip(rows, values, strict=True)]
        if options.get("indicator")
        else rows
    )


_PERIODS = {
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (0, 7),
    "yearday": (1, 365.2425),
    "hour": (0, 24),
    "minute": (0, 60),
}
_ORDERS = {"dmy": "%d.%m.%Y", "mdy": "%m/%d/%Y"}


def _date(options: Options, train: Values, values: Values, _: Values) -> Rows:
    def read(value: Any) -> datetime | None:
        if value in (None, ""):
            return None
        order = options.get("order", "ymd")
        moment = datetime.fromisoformat(value) if order == "ymd" else datetime.strptime(value, _ORDERS[order])
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def part(name: str, moment: datetime) -> float:
        moment = moment.astimezone(UTC)
        special = {
            "timestamp": moment.timestamp(), "weekday": moment.weekday(), "yearday": moment.timetuple().tm_yday,
        }  # fmt: skip
        return float(special[name] if name in special else getattr(moment, name))

    known = [moment for moment in map(read, train) if moment is not None]
    parts = options.get("parts", ("year", "month", "day", "weekday"))
    scales = {}
    for name in parts:
        found = [part(name, moment) for moment in known]
        scales[name] = (_mean(found), _deviation(found) if len(set(found)) > 1 else 1.0)
    rows = []
    for moment in map(read, values):
        if moment is None:
            row = [0.0] * (len(parts) + 2 * len(options.get("cycles", ())))
        else:
            row = [(part(name, moment) - scales[name][0]) / scales[name][1] for name in parts]
            for name in options.get("cycles", ()):
                begin, period = _PERIODS[name]
                angle = (part(name, moment) - begin) * 2 * math.pi / period
                row += [math.sin(angle), math.cos(angle)]
        rows.append([*row, float(moment is None)] if options.get("indicator") else row)
    return rows


def _text(options: Options, train: Values, values: Values, _: Values) -> Rows:
    kind, length = options.get("units", "characters"), options.get("length", 64)

    def units(value: Any) -> list[Any]:
        text = value or ""
        if kind == "bytes":
            return list(text.encode())
        return list(text) if kind == "characters" else _words(text.lower())

    counts = Counter(unit for value in train for unit in units(value))
    vocabulary = options.get("vocabulary")
    if vocabulary is None:
        vocabulary = sorted(counts, key=lambda unit: (-counts[unit], unit))[: options.get("max_vocabulary", 254)]
    rows = []
    for value in values:
        found = units(value)[:length]
        if options.get("output") == "lengths":
            rows.append([float(len(found))])
            continue
        ids = [
            unit + 2 if kind == "bytes" else vocabulary.index(unit) + 2 if unit in vocabulary else 1 for unit in found
        ]
        rows.append([float(each) for each in (*ids, *[0] * (length - len(ids)))])
    return rows


def _words(text: str) -> list[str]:
    """Return the words and the punctuation marks of a text."""
    found: list[str] = []
    open_word = False
    for character in text:
        if character.isalnum() or character == "_":
            found[-1:] = [found[-1] + character] if open_word else [*found[-1:], character]
            open_word = True
        else:
            open_word = False
            found += [] if character.isspace() else [character]
    return found


_KINDS: Mapping[str, Callable[[Options, Values, Values, Values], Rows]] = {
    "number": _number, "category": _category, "boolean": _boolean, "date": _date, "text": _text,
}  # fmt: skip
