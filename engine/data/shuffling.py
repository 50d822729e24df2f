"""Kinds of shuffling: the order of an epoch from a generator, without a look at the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from engine.core.constraints import Range
from engine.core.documents import Reader
from engine.core.options import read_options
from engine.core.value import Array


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """How the examples of an epoch are put in order, anew each epoch.

    "rows" makes every order equally likely; "none" keeps the order of the data. "shards" shuffles groups of `size`
    examples that follow each other (by default as many as a batch has), inside which the order stays, as ggml's
    data sets do; examples that fill no group stay at the end. "window" moves no example by `size` places or more, so
    that reading from a disk goes forward.
    """

    kind: Literal["rows", "shards", "window", "none"] = "rows"
    size: Annotated[int | None, Range(1, 2**31)] = None

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong between the fields."""
        if self.kind == "window" and self.size is None:
            yield "/size", "a windowed shuffle needs a 'size': how many places an example may move"
        if self.kind in ("rows", "none") and self.size is not None:
            yield "/size", f"a shuffle of kind {self.kind!r} has no size; leave it out, or take 'shards' or 'window'"

    def arrangement(self, count: int, batch_size: int, random: np.random.Generator) -> Array:
        """Return the positions 0 to `count` - 1 (int64) in the order that `random` draws."""
        if self.kind == "rows":
            return random.permutation(count)
        if self.kind == "shards":
            return _shards(count, self.size or batch_size, random)
        positions = np.arange(count)
        if self.kind == "window":
            return np.argsort(positions + random.random(count) * (self.size or 1), kind="stable")
        return positions


def read_shuffle(reader: Reader, value: Any, pointer: str) -> Shuffle | None:
    """Read `true` (rows), `false` (none) or an object with a kind; faults are noted."""
    if isinstance(value, bool):
        return Shuffle(kind="rows" if value else "none")
    return read_options(reader, value, pointer, Shuffle)


def _shards(count: int, size: int, random: np.random.Generator) -> Array:
    whole = count // size
    order = random.permutation(whole)[:, None] * size + np.arange(size)
    return np.concatenate([order.reshape(-1), np.arange(whole * size, count)])
