"""Metric rows: pages, filters, and downsampling of long curves."""

import asyncio
import sys
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import orjson

from app.domain.documents import nearest
from app.domain.errors import Finding, Invalid
from app.service.fits.curve_extremes import BLOCK_ROWS, CurveExtremes
from app.service.resources.read_through_cache import ReadThroughCache
from app.store.unit_of_work import Store

CHUNK = 5000


def scan_rows(
    store: Store,
    fit_id: str,
    after: int = 0,
    last: int = sys.maxsize,
    chunk: int = CHUNK,
    *,
    timestamps: bool = False,
) -> Iterator[tuple[int, str]]:
    """Yield the rows after `after`, up to `last`, each with its `seq`; stop early if the fit is deleted.

    With `timestamps` each includes the time at which it was stored. Each chunk is read in its own unit of work: rows
    never change, and a long curve must not block writers.
    """
    while after < last:
        with store.read() as work:
            rows = work.events.metric_rows(fit_id, after, min(chunk, last - after), timestamps=timestamps)
        if not rows:
            return
        yield from rows
        after = rows[-1][0]


BLOCK = 500
"""Rows that are read and filtered together."""

BYTES_MAX = 64 * 1024**2
ROW_OVERHEAD_BYTES = 100
"""Memory of a row beside its text."""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Selects rows and values: `keys` of their values, every `every`-th step, one `split` (all by default).

    With `timestamps` rows include the time at which they were stored, which is not part of the computed results.
    """

    keys: tuple[str, ...] = ()
    every: int = 1
    split: str | None = None
    timestamps: bool = False
    _wanted: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Prepare the lookup of keys."""
        object.__setattr__(self, "_wanted", frozenset(self.keys))

    @property
    def passes_all(self) -> bool:
        """Whether rows pass unchanged."""
        return not self.keys and self.every == 1 and self.split is None

    def apply(self, body: str) -> str | None:
        """Return the filtered row, None if nothing of it passes."""
        if self.passes_all:
            return body
        row = orjson.loads(body)
        if row["step"] % self.every or self.split not in (None, row["split"]):
            return None
        if self.keys:
            row["values"] = {key: value for key, value in row["values"].items() if key in self._wanted}
            row["nonfinite"] = {key: value for key, value in row["nonfinite"].items() if key in self._wanted}
        return orjson.dumps(row).decode()


class _Rows(NamedTuple):
    """Filtered rows of a block up to number `upto`, with their numbers."""

    upto: int
    seqs: tuple[int, ...] = ()
    bodies: tuple[str, ...] = ()


class _Block:
    """Rows of a block, which grows until it is full. They are replaced as a whole, so that readers need no lock."""

    __slots__ = ("growing", "rows", "size")

    def __init__(self, start: int) -> None:
        self.growing = threading.Lock()
        self.rows = _Rows(start)
        self.size = 0


class MetricRowCache:
    """Cache of requested rows, in blocks, by fit and filter."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._blocks: OrderedDict[tuple[str, RowFilter, int], _Block] = OrderedDict()
        self._bytes = 0

    def known(self, fit_id: str, after: int, limit: int, stored: int, rows: RowFilter) -> tuple[list[str], int] | None:
        """Return the result of `read`, or None if it needs the database. Never blocks."""
        kept: list[str] = []
        while after < stored and len(kept) < limit:
            number = after // BLOCK
            upto = min((number + 1) * BLOCK, stored)
            with self._lock:
                block = self._blocks.get((fit_id, rows, number))
                if block is None or block.rows.upto < upto:
                    return None
                self._blocks.move_to_end((fit_id, rows, number))
            after = _take_rows(block.rows, after, limit, stored, kept)
        return kept, after

    def read(
        self, fit_id: str, after: int, limit: int, stored: int, rows: RowFilter, most: int
    ) -> tuple[list[str], int]:
        """Return at most `limit` of the `stored` rows that follow `after` and pass, and the row to go on after.

        It looks at about `most` rows. The caller has seen that the fit is there, and may be read.
        """
        kept: list[str] = []
        first = after
        while after < stored and len(kept) < limit and after - first < most:
            block = self._grown(fit_id, rows, after // BLOCK, stored)
            following = _take_rows(block, after, limit, stored, kept)
            if following == after:  # the fit has been deleted
                break
            after = following
        return kept, after

    def _grown(self, fit_id: str, rows: RowFilter, number: int, stored: int) -> _Rows:
        """Return a block with all of its stored rows."""
        key = (fit_id, rows, number)
        upto = min((number + 1) * BLOCK, stored)
        with self._lock:
            block = self._blocks.setdefault(key, _Block(number * BLOCK))
            self._blocks.move_to_end(key)
        with block.growing:
            if block.rows.upto < upto:
                self._grow(block, fit_id, rows, upto)
                self._account(key, block)
        return block.rows

    def _grow(self, block: _Block, fit_id: str, rows: RowFilter, upto: int) -> None:
        last, seqs, bodies = block.rows.upto, [*block.rows.seqs], [*block.rows.bodies]
        for seq, body in scan_rows(self._store, fit_id, last, upto, timestamps=rows.timestamps):
            passed = rows.apply(body)
            if passed is not None:
                seqs.append(seq)
                bodies.append(passed)
            last = seq
        block.rows = _Rows(last, tuple(seqs), tuple(bodies))

    def _account(self, key: tuple[str, RowFilter, int], block: _Block) -> None:
        """Add the bytes of a block that has grown, and evict the least recently used ones."""
        texts = (*block.rows.bodies, *key[1].keys)
        size = sum(map(len, texts)) + ROW_OVERHEAD_BYTES * (len(texts) + 1)
        with self._lock:
            if self._blocks.get(key) is block:
                self._bytes += size - block.size
                block.size = size
            while self._bytes > BYTES_MAX:
                _, oldest = self._blocks.popitem(last=False)
                self._bytes -= oldest.size


def _take_rows(rows: _Rows, after: int, limit: int, stored: int, kept: list[str]) -> int:
    """Append rows after `after`, up to `stored`, to `kept`, at most `limit` of them; return the last row examined."""
    first, last = bisect_right(rows.seqs, after), bisect_right(rows.seqs, stored)
    end = first + limit - len(kept)
    kept += rows.bodies[first : min(end, last)]
    return rows.seqs[end - 1] if end < last else max(min(rows.upto, stored), after)


FITS_MAX = 256
CHECKED_ROWS = 100


@dataclass(slots=True)
class CurveSummary:
    """Names of values, splits and the last step of the first `rows` metric rows of a fit."""

    rows: int = 0
    last_step: int = 0
    keys: set[str] = field(default_factory=set)
    splits: set[str] = field(default_factory=set)
    growing: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def see(self, seq: int, body: str) -> None:
        """Include a row."""
        row = orjson.loads(body)
        self.rows = seq
        self.last_step = max(self.last_step, row["step"])
        self.keys.update(row["values"])
        self.splits.add(row["split"])


class CurveSummaries:
    """Summaries of the curves that were requested last; each row is read once, as rows never change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[str, CurveSummary] = OrderedDict()

    def are_known(self, fit_id: str, *, keys: tuple[str, ...], every: int, split: str | None) -> bool:
        """Return whether each part of a filter is known to match a row; never blocks."""
        if not keys and every == 1 and split is None:
            return True
        contents = self._known.get(fit_id)
        return contents is not None and not any(_match_failures(contents, keys, every, split))

    def unmatched(
        self, fit_id: str, stored: int, *, keys: tuple[str, ...], every: int, split: str | None
    ) -> tuple[Finding, ...]:
        """Return the parts of a filter that match none of the `stored` rows; nothing if there are no rows yet."""
        with self._lock:
            contents = self._known.setdefault(fit_id, CurveSummary())
            self._known.move_to_end(fit_id)
            if len(self._known) > FITS_MAX:
                self._known.popitem(last=False)
        # Only requests for this fit wait while its rows are read.
        with contents.growing:
            if any(_match_failures(contents, keys, every, split)):
                for seq, body in scan_rows(self._store, fit_id, contents.rows, stored):
                    contents.see(seq, body)
                    # The first rows are sufficient, unless they lack a part of the filter.
                    if seq % CHECKED_ROWS == 0 and not any(_match_failures(contents, keys, every, split)):
                        break
            return tuple(_faults(contents, keys, every, split)) if stored else ()


def _match_failures(contents: CurveSummary, keys: tuple[str, ...], every: int, split: str | None) -> Iterator[bool]:
    """Yield for each part of a filter whether it matches no row."""
    yield from (key not in contents.keys for key in keys)
    yield split is not None and split not in contents.splits
    yield every > max(contents.last_step, 1)


def _faults(contents: CurveSummary, keys: tuple[str, ...], every: int, split: str | None) -> Iterator[Finding]:
    known = sorted(contents.keys)
    for key in keys:
        if key not in contents.keys:
            hint = nearest(key, known)
            yield Finding("/keys", "unknown_name", f"no row of this fit has a value {key[:64]!r}{hint}")
    if split is not None and split not in contents.splits:
        yield Finding("/split", "no_match", f"no row of this fit is of the split {split}")
    if every > max(contents.last_step, 1):
        detail = f"no step is a multiple of {every}: the last one is {contents.last_step}"
        yield Finding("/every", "out_of_range", detail)


RECENT_MAX = 10_000
SCAN_MAX = 200_000
ROWS_A_BUCKET = 2
SPLITS = 2
MAIN = "loss"


class MetricPage(NamedTuple):
    """Rows as JSON text, of the `stored` ones there were; `last_seq` is the row to go on after.

    `findings` list what of the filter matches no row of a fit so far.
    """

    rows: tuple[str, ...]
    last_seq: int
    stored: int
    findings: tuple[Finding, ...] = ()

    @property
    def has_more(self) -> bool:
        """Whether there was a row to go on with."""
        return self.stored > self.last_seq


class Metrics:
    """The use cases of metric rows, which never change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: ReadThroughCache[int] = ReadThroughCache(0 if store.is_shared else RECENT_MAX)
        self._contents = CurveSummaries(store)
        self._rows = MetricRowCache(store)
        self._extremes = CurveExtremes(partial(scan_rows, store))
        store.on_change(lambda fit_id: self._cache.renew(fit_id, self._read_last))

    async def last(self, fit_id: str) -> int:
        """Return the number of rows there are, which is the `seq` of the last; NotFound if there is no such fit.

        Rows never change, so the answer to a query is settled by this and the query.
        """
        known = self.known_last(fit_id)
        return await asyncio.to_thread(self._last, fit_id) if known is None else known

    def known_last(self, fit_id: str) -> int | None:
        """Return the result of `last`, or None if it needs the database."""
        return self._cache.get(fit_id)

    def page(self, fit_id: str, after: int, limit: int, rows: RowFilter) -> MetricPage:
        """Return at most `limit` rows after `after` that pass; examines at most `SCAN_MAX` rows."""
        stored = self._last(fit_id)
        findings = self.unmatched(fit_id, after, stored, rows)
        kept, last = self._rows.read(fit_id, after, limit, stored, rows, SCAN_MAX)
        return MetricPage(tuple(kept), last, stored, findings)

    def known_page(self, fit_id: str, after: int, limit: int, rows: RowFilter, stored: int) -> MetricPage | None:
        """Return the result of `page`, or None if it needs the database; for event loops. `stored` is from `last`."""
        if after > stored or not self._contents.are_known(fit_id, keys=rows.keys, every=rows.every, split=rows.split):
            return None
        found = self._rows.known(fit_id, after, limit, stored, rows)
        return None if found is None else MetricPage(tuple(found[0]), found[1], stored)

    def downsampled(self, fit_id: str, after: int, points: int, rows: RowFilter) -> MetricPage:
        """Return about `points` rows that follow `after`: of each stretch the rows with the extremes.

        Extremes are those of the first of `rows.keys`, or of the loss, and the first row that is not finite there;
        rows without it are left out.
        """
        last = self._last(fit_id)
        findings = self.unmatched(fit_id, after, last, rows)
        total = max(0, last - after)
        if total <= points:
            bodies = dict(scan_rows(self._store, fit_id, after, last, timestamps=rows.timestamps))
        else:
            share = ROWS_A_BUCKET * (1 if rows.split else SPLITS)
            seqs = self._find_extremes(fit_id, after, last, max(1, points // share), rows)
            with self._store.read() as work:
                bodies = work.events.metric_bodies(fit_id, seqs, timestamps=rows.timestamps)
        passed = (rows.apply(bodies[seq]) for seq in sorted(bodies))
        return MetricPage(tuple(body for body in passed if body is not None), max(last, after), last, findings)

    def _find_extremes(self, fit_id: str, after: int, last: int, buckets: int, rows: RowFilter) -> set[int]:
        if after == 0 and last >= buckets * BLOCK_ROWS:
            key = rows.keys[0] if rows.keys else MAIN
            return self._extremes.find(fit_id, key, rows.split, last, buckets)
        extremes = _Extremes(after, last - after, buckets, rows)
        for seq, body in scan_rows(self._store, fit_id, after, last):
            extremes.see(seq, body)
        return extremes.seqs()

    def unmatched(self, fit_id: str, after: int, stored: int, rows: RowFilter) -> tuple[Finding, ...]:
        """Return what of a query matches none of the `stored` rows of a fit, and may match one to come.

        Invalid if none will come, since the fit has ended, and where `after` is no row that there ever was.
        """
        if after > stored:
            detail = f"the fit has {stored} rows, so there is none to go on after {after}"
            raise Invalid(detail, code="out_of_range", findings=[Finding("/after", "out_of_range", detail)])
        if rows.passes_all:
            return ()
        findings = self._contents.unmatched(fit_id, stored, keys=rows.keys, every=rows.every, split=rows.split)
        if findings and self._has_ended(fit_id):
            raise Invalid(findings[0].detail, code=findings[0].code, findings=findings)
        return findings

    def _has_ended(self, fit_id: str) -> bool:
        with self._store.read() as work:
            return work.fits.get(fit_id).terminal

    def _last(self, fit_id: str) -> int:
        return self._cache.read(fit_id, self._read_last)

    def _read_last(self, fit_id: str) -> int:
        with self._store.read() as work:
            work.fits.get(fit_id)
            return work.events.last_metric_seq(fit_id)


class _Extremes:
    """Lowest, highest and first non-finite row of each bucket of each split, by `seq`."""

    def __init__(self, after: int, total: int, buckets: int, rows: RowFilter) -> None:
        self._after = after
        self._total = total
        self._buckets = buckets
        self._key = rows.keys[0] if rows.keys else MAIN
        self._split = rows.split
        self._lowest: dict[tuple[str, int], tuple[float, int]] = {}
        self._highest: dict[tuple[str, int], tuple[float, int]] = {}
        self._not_finite: dict[tuple[str, int], int] = {}

    def see(self, seq: int, body: str) -> None:
        row: dict[str, Any] = orjson.loads(body)
        if self._split not in (None, row["split"]) or self._key not in row["values"]:
            return
        value = row["values"][self._key]
        bucket = (row["split"], (seq - self._after - 1) * self._buckets // self._total)
        if value is None:
            self._not_finite.setdefault(bucket, seq)
            return
        entry = (value, seq)
        self._lowest[bucket] = min(self._lowest.get(bucket, entry), entry)
        self._highest[bucket] = max(self._highest.get(bucket, entry), entry)

    def seqs(self) -> set[int]:
        extremes = {seq for table in (self._lowest, self._highest) for _, seq in table.values()}
        return extremes | {*self._not_finite.values()}
