"""Options of a sweep: the fields of the recipe that vary, their values, and how variants are chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from engine.core.attributes import Range
from engine.core.errors import escape, nearest
from engine.core.options import Reader, Reads, options_of, read_options, type_name
from engine.training.recipe.recipe import Recipe

DEPTH = 16


class PathError(ValueError):
    """A path that does not exist in a request; the message says where it ends."""


def replace_at(document: Any, path: str, value: Any) -> Any:
    """Return a copy of the document with `value` at `path`.

    Missing objects on the way are created; a text in the place of one is its kind, as in `"adam"`.

    Raises:
        PathError: the path leads through something that is neither an object nor a list, or past the end of a list.
    """
    return _replaced(document, path.split("."), 0, value)


def _replaced(document: Any, tokens: list[str], depth: int, value: Any) -> Any:
    if depth == len(tokens):
        return value
    token = tokens[depth]
    document = {"kind": document} if isinstance(document, str) else document
    if document is None or isinstance(document, Mapping):
        document = {} if document is None else document
        return {**document, token: _replaced(document.get(token), tokens, depth + 1, value)}
    here = ".".join(tokens[:depth])
    if not isinstance(document, list | tuple):
        raise PathError(f"{here!r} is {type_name(document)} in the request, in which there is no {token[:64]!r}")
    place = int(token) if token.isascii() and token.isdigit() and len(token) < DEPTH else len(document)
    if place >= len(document):
        raise PathError(f"{here!r} is a list of {len(document)} in the request; {token[:64]!r} is no place in it")
    return [*document[:place], _replaced(document[place], tokens, depth + 1, value), *document[place + 1 :]]


def remove_at(document: Any, path: str) -> Any:
    """Return the document without the field at `path`, which must exist; a value in a list remains."""
    name, _, rest = path.partition(".")
    if isinstance(document, Mapping):
        kept = {key: value for key, value in document.items() if key != name}
        return {**kept, name: remove_at(document[name], rest)} if rest else kept
    if isinstance(document, list | tuple) and rest:
        place = int(name)
        return [*document[:place], remove_at(document[place], rest), *document[place + 1 :]]
    return document


VARIANTS = 1024
"""Maximum number of variants of a sweep."""

PARAMETERS = 32
"""Maximum number of fields that vary in a sweep."""

SHARED = frozenset({"feeds", "windows", "validation", "metrics", "record", "checkpoint", "preset"})
"""Fields of a recipe that all variants share, so that they are fitted to the same rows and comparable."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Numbers from `min` to `max`, both included; with `log` their logarithms are equally likely, not they."""

    min: float
    max: float
    log: bool = False
    integer: bool = False

    def at(self, share: float) -> float:
        """Return the number below which a fraction `share` (0 <= share < 1) of the draws lies."""
        low, high = self.min, self.max + (1 if self.integer else 0)
        if self.log:
            number = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        else:
            number = low + share * (high - low)
        # Rounding may lead past the ends.
        number = min(max(number, self.min), self.max)
        return math.floor(number) if self.integer else number

    def faults(self) -> Iterator[tuple[str, str]]:
        """Find bounds that do not form an interval."""
        if not (math.isfinite(self.min) and math.isfinite(self.max)):
            yield "", "min and max must be finite"
        elif self.min >= self.max:
            yield "/max", f"must be greater than min, {self.min:g}"
        elif self.log and self.min <= 0:
            yield "/min", "must be greater than 0 for a logarithmic range"
        elif self.integer and not (self.min.is_integer() and self.max.is_integer()):
            yield "", "min and max must be whole numbers where integer is true"


Values = tuple[Any, ...] | Interval


def _read_parameters(reader: Reader, document: Any, pointer: str) -> dict[str, Values]:
    entries = reader.mapping(document, pointer)
    if not 1 <= len(entries) <= PARAMETERS:
        detail = f"a sweep varies 1 to {PARAMETERS} fields, not {len(entries)}"
        reader.fault(pointer, "out_of_range", detail)
        return {}
    read = {}
    for path, values in entries.items():
        place = f"{pointer}/{escape(path)}"
        _check_path(reader, str(path), place)
        if isinstance(values, Mapping):
            read[str(path)] = read_options(reader, values, place, Interval) or ()
        else:
            read[str(path)] = tuple(reader.sequence(values, place))
            if isinstance(values, list | tuple) and not values:
                reader.fault(place, "empty", "give at least one value")
    return read


def _check_path(reader: Reader, path: str, place: str) -> None:
    tokens = path.split(".")
    known = [name for name in options_of(Recipe) if name not in SHARED]
    if not all(tokens) or len(tokens) > DEPTH:
        reader.fault(place, "attribute_invalid", f"a path is up to {DEPTH} names joined by dots, as optimizer.lr")
    elif tokens[0] not in known:
        hint = nearest(tokens[0], known) or f"; what may vary: {', '.join(known)}"
        reader.fault(place, "not_variable", f"{tokens[0][:64]!r} is no field in which variants may differ{hint}")


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Variants of one fit, which differ in a few fields.

    Attributes:
        kind: "grid": every combination of values, the last parameter varying fastest; "random": combinations drawn
            independently; "halving": successive halving (Jamieson & Talwalkar 2016) of a grid, or of `samples` drawn
            combinations: all are fitted for a few steps, the best of them for `eta` times as many, and so on.
        parameters: by path into the request (as "optimizer.lr", "optimizer.groups.0.lr", "seed") a list of values or,
            where combinations are drawn, a range {"min", "max", "log", "integer"}.
        samples: the number of combinations that are drawn; no two are equal.
        seed: determines the draws.
        eta: halving: one of this many variants advances to the next rung.
        min_steps: halving: the steps of the first rung; each further one has `eta` times as many. By default chosen
            such that one variant is left for the last steps.
        monitor: the metric that ranks variants; by default that of early stopping, or the loss.
        mode: whether smaller ("min") or larger ("max") values are better; by default as the metric.
    """

    kind: Literal["grid", "random", "halving"]
    parameters: Annotated[
        Mapping[str, Values], Reads(_read_parameters, "an object: for each path a list of values, or a range")
    ]
    samples: Annotated[int | None, Range(1, VARIANTS)] = None
    seed: Annotated[int, Range(0, 2**63 - 1)] = 0
    eta: Annotated[int, Range(2, 100)] = 3
    min_steps: Annotated[int | None, Range(1, 10**9)] = None
    monitor: str | None = None
    mode: Literal["min", "max"] | None = None

    @property
    def drawn(self) -> bool:
        """Whether combinations are drawn, not enumerated."""
        return self.samples is not None

    @property
    def combinations(self) -> int | None:
        """The number of different combinations of values; None if there are ranges."""
        lists = [values for values in self.parameters.values() if isinstance(values, tuple)]
        return math.prod(map(len, lists)) if len(lists) == len(self.parameters) else None

    def faults(self) -> Iterator[tuple[str, str]]:
        """Find options that do not go together."""
        if self.kind == "random" and not self.drawn:
            yield "/samples", "give the number of combinations to draw"
        if self.kind == "grid" and self.drawn:
            yield "/samples", "a grid uses all combinations; remove this field, or use kind 'random'"
        if self.kind != "halving" and self.min_steps is not None:
            yield "/min_steps", "only halving has rungs; remove this field"
        if not self.drawn:
            for path, values in self.parameters.items():
                if isinstance(values, Interval):
                    yield (
                        f"/parameters/{escape(path)}",
                        "a range needs samples, which are drawn from it; or list values",
                    )
        found = self.combinations
        if found is None:
            return
        if not self.drawn and found > VARIANTS:
            yield "/parameters", f"{found} combinations are more than {VARIANTS}; take fewer, or draw samples"
        elif self.samples is not None and self.samples > found:
            yield "/samples", f"there are only {found} different combinations; draw fewer, or take a grid"


def read_sweep(document: Any) -> SweepOptions:
    """Read the `sweep` of a request.

    Raises:
        DocumentError: every fault found; pointers are those of the request.
    """
    reader = Reader()
    options = read_options(reader, document, "/sweep", SweepOptions)
    reader.finish()
    assert options is not None
    return options
