"""Metric rows: pages of them, thinned out, or a few that show the shape of a long curve."""

from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import orjson

from app.service.stored_rows import CHUNK, scan_rows
from app.store.unit_of_work import Store

SCAN_MAX = 200_000
ROWS_A_BUCKET = 2
SPLITS = 2
MAIN = "loss"


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows, and what of them: `keys` of their values, every `every`-th step, of one `split` (all by default)."""

    keys: tuple[str, ...] = ()
    every: int = 1
    split: str | None = None

    @property
    def passes_all(self) -> bool:
        """Whether rows can be handed on as they are stored."""
        return not self.keys and self.every == 1 and self.split is None

    def apply(self, body: str) -> str | None:
        """Return what is left of a row, None if nothing is."""
        if self.passes_all:
            return body
        row = orjson.loads(body)
        if row["step"] % self.every or self.split not in (None, row["split"]):
            return None
        if self.keys:
            row["values"] = {key: value for key, value in row["values"].items() if key in self.keys}
            row["nonfinite"] = {key: value for key, value in row["nonfinite"].items() if key in self.keys}
        return orjson.dumps(row).decode()


class MetricPage(NamedTuple):
    """Rows as JSON text; `last_seq` is the row to go on after; `has_more` whether there is one at present."""

    rows: tuple[str, ...]
    last_seq: int
    has_more: bool


class Metrics:
    """The use cases of metric rows. A row that was read once never changes."""

    def __init__(self, store: Store) -> None:
        """Read from `store`."""
        self._store = store

    def page(self, fit_id: str, after: int, limit: int, rows: RowFilter) -> MetricPage:
        """Return at most `limit` rows that follow `after` and pass; looks at `SCAN_MAX` rows at most."""
        stored = self._last(fit_id)
        kept: list[str] = []
        last = after
        for seq, body in scan_rows(self._store, fit_id, after, limit if rows.passes_all else CHUNK):
            passed = rows.apply(body)
            last = seq
            if passed is not None:
                kept.append(passed)
            if len(kept) == limit or seq - after >= SCAN_MAX:
                break
        return MetricPage(tuple(kept), last, stored > last)

    def downsampled(self, fit_id: str, after: int, points: int, rows: RowFilter) -> MetricPage:
        """Return about `points` rows that follow `after`: of each stretch the rows with the extremes.

        Extremes are those of the first of `rows.keys`, or of the loss; a row that is not finite there counts as one.
        """
        last = self._last(fit_id)
        total = max(0, last - after)
        if total <= points:
            bodies = dict(scan_rows(self._store, fit_id, after))
        else:
            share = ROWS_A_BUCKET * (1 if rows.split else SPLITS)
            extremes = _Extremes(after, total, max(1, points // share), rows)
            for seq, body in scan_rows(self._store, fit_id, after):
                extremes.see(seq, body)
            with self._store.begin() as work:
                bodies = work.events.metric_bodies(fit_id, extremes.seqs())
        passed = (rows.apply(bodies[seq]) for seq in sorted(bodies))
        return MetricPage(tuple(body for body in passed if body is not None), last, has_more=False)

    def _last(self, fit_id: str) -> int:
        with self._store.begin() as work:
            work.fits.get(fit_id)
            return work.events.last_metric_seq(fit_id)


class _Extremes:
    """The lowest and the highest row of each bucket of each split, by sequence number."""

    def __init__(self, after: int, total: int, buckets: int, rows: RowFilter) -> None:
        self._after = after
        self._total = total
        self._buckets = buckets
        self._key = rows.keys[0] if rows.keys else MAIN
        self._split = rows.split
        self._lowest: dict[tuple[str, int], tuple[float, int]] = {}
        self._highest: dict[tuple[str, int], tuple[float, int]] = {}

    def see(self, seq: int, body: str) -> None:
        row: dict[str, Any] = orjson.loads(body)
        if self._split not in (None, row["split"]):
            return
        value = row["values"].get(self._key, inf)
        entry = (inf if value is None else value, seq)
        bucket = (row["split"], min(seq - self._after - 1, self._total - 1) * self._buckets // self._total)
        self._lowest[bucket] = min(self._lowest.get(bucket, entry), entry)
        self._highest[bucket] = max(self._highest.get(bucket, entry), entry)

    def seqs(self) -> set[int]:
        return {seq for table in (self._lowest, self._highest) for _, seq in table.values()}
