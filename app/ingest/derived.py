"""Rows of stored columns as the columns of another dataset: chosen, sampled, split, or joined one after another.

The plan is a file of JSON that the server writes. Rows keep their order. What is drawn depends on the seed alone: it is
made of the raw output of PCG64, which is the same in every version of NumPy.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from io import BufferedReader
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.ingest.columns import CHUNK_BYTES, ColumnSet, pointer_to
from app.ingest.limits import IngestError, IngestOptions
from app.ingest.stored_arrays import map_array
from app.system.confinement import room_to_map

DERIVED = "derived"
"""The format of a plan, which no client can name."""

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not_in", "missing", "present"]
Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Condition:
    """What a column of numbers, truth values or codes of texts has to be. A missing value meets `missing` alone."""

    column: str
    op: Operator
    value: Any = None
    texts: bool = False
    """Whether the values are codes of texts, of which -1 is a missing one."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows are kept, in this order: those from `start` to before `stop`, of these those that meet all conditions
    of `where`, of these `count` that are drawn; of a `part`, `count` rows are drawn for the test part, in each class of
    the column `stratify` in proportion.
    """

    start: int = 0
    stop: int | None = None
    where: tuple[Condition, ...] = ()
    count: int | None = None
    fraction: float | None = None
    seed: int = 0
    part: Literal["train", "test"] | None = None
    stratify: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """The files of a dataset's columns by name, and the new codes of the text columns whose classes are renumbered."""

    paths: dict[str, str]
    codes: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A column to write; `texts` are columns of codes, of which -1 is a missing one."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    texts: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The columns, the datasets whose rows follow one another, and which rows are kept; a selection is of one part."""

    columns: tuple[DerivedColumn, ...]
    parts: tuple[Part, ...]
    selection: Selection | None = None

    def encode(self) -> bytes:
        """Return the plan as a file."""
        return json.dumps(asdict(self)).encode()


def decode_plan(content: bytes) -> Plan:
    """The reverse of `Plan.encode`."""
    fields = json.loads(content)
    chosen = fields["selection"]
    if chosen is not None:
        chosen = Selection(**{**chosen, "where": tuple(Condition(**each) for each in chosen["where"])})
    columns = tuple(DerivedColumn(**{**each, "shape": tuple(each["shape"])}) for each in fields["columns"])
    return Plan(columns, tuple(Part(**part) for part in fields["parts"]), chosen)


def read_derived(file: BufferedReader, size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Write the columns of the plan in `file`."""
    plan = decode_plan(file.read(size_bytes))
    kept = None
    try:
        if plan.selection is not None:
            kept = _select(plan.parts[0], plan.selection)
        for column in plan.columns:
            writer = columns.open(column.name, np.dtype(column.dtype), column.shape)
            writer.holds_codes = column.texts
            for part in plan.parts:
                table = part.codes.get(column.name)
                recode = None if table is None else np.array([*table, -1], np.int64)  # the code -1 finds the last one
                for block in _blocks(part.paths[column.name], kept):
                    writer.append(_convert(block if recode is None else recode[block], writer.dtype, column.name))
    except MemoryError:
        limit = columns.limits.memory_bytes
        detail = f"to choose among these rows takes more than {limit} bytes of memory; choose a smaller range of rows"
        raise IngestError("too_much_memory", "", detail, limit=limit) from None


def _blocks(path: str, kept: Rows | None = None) -> Iterator[NDArray[Any]]:
    """Yield the rows that are kept of a column, in blocks of bounded size."""
    with room_to_map(Path(path).stat().st_size):
        array = map_array(path)
        step = max(1, CHUNK_BYTES // max(1, array.itemsize * prod(array.shape[1:])))
        for start in range(0, len(array), step):
            block = array[start : start + step]
            chosen = block if kept is None else block[kept[start : start + step]]
            if len(chosen):
                yield np.asarray(chosen)
        del array


def _convert(block: NDArray[Any], dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    """Return numbers in the type of the first part; floats are rounded to it, nothing else may change."""
    if block.dtype == dtype:
        return block
    with np.errstate(invalid="ignore", over="ignore"):
        converted = block.astype(dtype)
        if dtype.kind == block.dtype.kind == "f":
            lost = np.isfinite(block) & ~np.isfinite(converted)
        else:
            lost = converted.astype(block.dtype) != block
    if lost.any():
        value = block[lost].flat[0].item()
        advice = "change the value, or upload a new dataset"
        detail = f"column {name!r} is {dtype.name}, which cannot hold {value!r}; {advice}"
        raise IngestError("type_mismatch", pointer_to(name), detail)
    return converted


def _select(part: Part, selection: Selection) -> Rows:
    """Return which rows are kept."""
    first = next(iter(part.paths.values()))
    kept = np.zeros(map_array(first).shape[0], np.bool_)
    kept[selection.start : selection.stop] = True
    for condition in selection.where:
        at = 0
        for block in _blocks(part.paths[condition.column]):
            kept[at : at + len(block)] &= _meets(block, condition)
            at += len(block)
    if not kept.any():
        raise IngestError("no_rows", "/where", "no row meets these conditions; a dataset needs at least one")
    candidates = np.flatnonzero(kept)
    count = selection.count
    if selection.fraction is not None:
        count = max(1, round(selection.fraction * len(candidates)))
    if selection.part is not None:
        assert count is not None
        return _split(part, selection, len(kept), min(count, len(kept) - 1))
    if count is not None:
        if count > len(candidates):
            detail = f"{count} rows cannot be drawn of {len(candidates)} without repeating some; ask for fewer"
            raise IngestError("out_of_range", "/sample/rows", detail)
        kept[:] = False
        kept[candidates[_draw_order(len(candidates), selection.seed)[:count]]] = True
    return kept


def _draw_order(count: int, seed: int) -> NDArray[np.int64]:
    """Return a random order of `count` things that the seed decides."""
    keys: NDArray[np.uint64] = np.random.PCG64(seed).random_raw(count)
    order: NDArray[np.int64] = np.argsort(keys, kind="stable")
    return order


def _split(part: Part, selection: Selection, rows: int, count: int) -> Rows:
    """Return the rows of a part: `count` are drawn for the test part, of each class as many as its share."""
    order, test = _draw_order(rows, selection.seed), np.zeros(rows, np.bool_)
    if selection.stratify is None:
        test[order[:count]] = True
        return test if selection.part == "test" else ~test
    values = np.concatenate([*_blocks(part.paths[selection.stratify])])
    classes, codes = np.unique(values, return_inverse=True)
    sizes = np.bincount(codes, minlength=len(classes))
    exact = sizes * (count / rows)
    taken = np.floor(exact).astype(np.int64)
    # The largest remainders get the rows that are left, the first class of equal ones.
    taken[np.argsort(-(exact - taken), kind="stable")[: count - int(taken.sum())]] += 1
    grouped = order[np.argsort(codes[order], kind="stable")]
    ends = np.cumsum(sizes)
    place = np.arange(rows) - np.repeat(ends - sizes, sizes)
    test[grouped[place < np.repeat(taken, sizes)]] = True
    return test if selection.part == "test" else ~test


_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "==": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
)


def _meets(block: NDArray[Any], condition: Condition) -> Rows:
    """Return which values of a block meet a condition."""
    absent = block < 0 if condition.texts else np.isnan(block)
    value = condition.value
    if condition.op in ("missing", "present"):
        return absent if condition.op == "missing" else ~absent
    if condition.op in ("in", "not_in"):
        found = np.zeros(len(block), np.bool_)
        for each in value:
            found |= _meets(block, replace(condition, op="==", value=each))
        return (found if condition.op == "in" else ~found) & ~absent
    if block.dtype.kind in "iu" and isinstance(value, float):
        return _meets_between(block, condition.op, value)
    met: Rows = _COMPARE[condition.op](block, value)
    return met & ~absent


def _meets_between(block: NDArray[Any], op: str, value: float) -> Rows:
    """Compare integers with a float exactly, not as floats, of which those beyond 2**53 are not all."""
    below = math.floor(value)
    if below == value:
        return np.asarray(_COMPARE[op](block, below))
    if op in ("==", "!="):
        return np.full(len(block), op == "!=")
    return np.asarray(block <= below if op in ("<", "<=") else block > below)
