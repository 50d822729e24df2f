"""Metric rows: pages of them, thinned out, or a few that show the shape of a long curve."""

import asyncio
from typing import Any, NamedTuple

import orjson

from app.domain.errors import Finding, Invalid
from app.service.fits.metric_rows import CurveSummaries, MetricRowCache, RowFilter, scan_rows
from app.service.resources.read_through_cache import ReadThroughCache
from app.store.unit_of_work import Store

RECENT_MAX = 10_000
SCAN_MAX = 200_000
ROWS_A_BUCKET = 2
SPLITS = 2
MAIN = "loss"


class MetricPage(NamedTuple):
    """Rows as JSON text, of the `stored` ones there were; `last_seq` is the row to go on after.

    `findings` tell what of the filter matches no row of a fit so far.
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
    """The use cases of metric rows. A row that was read once never changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: ReadThroughCache[int] = ReadThroughCache(RECENT_MAX)
        self._contents = CurveSummaries(store)
        self._rows = MetricRowCache(store)
        store.on_change(self._cache.invalidate)

    async def last(self, fit_id: str) -> int:
        """Return the number of rows there are, which is the `seq` of the last; NotFound if there is no such fit.

        Rows never change, so the answer to a query is settled by this and the query.
        """
        known = self.known_last(fit_id)
        return await asyncio.to_thread(self._last, fit_id) if known is None else known

    def known_last(self, fit_id: str) -> int | None:
        """Return as `last` does, None where that would read the database."""
        return self._cache.get(fit_id)

    def page(self, fit_id: str, after: int, limit: int, rows: RowFilter) -> MetricPage:
        """Return at most `limit` rows that follow `after` and pass; looks at `SCAN_MAX` rows at most."""
        stored = self._last(fit_id)
        findings = self.unmatched(fit_id, after, stored, rows)
        kept, last = self._rows.read(fit_id, after, limit, stored, rows, SCAN_MAX)
        return MetricPage(tuple(kept), last, stored, findings)

    def known_page(self, fit_id: str, after: int, limit: int, rows: RowFilter, stored: int) -> MetricPage | None:
        """Return as `page` does where nothing is to be read for it; an event loop may ask. `stored` is of `last`."""
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
            bodies = dict(scan_rows(self._store, fit_id, after, last))
        else:
            share = ROWS_A_BUCKET * (1 if rows.split else SPLITS)
            extremes = _Extremes(after, total, max(1, points // share), rows)
            for seq, body in scan_rows(self._store, fit_id, after, last):
                extremes.see(seq, body)
            with self._store.begin() as work:
                bodies = work.events.metric_bodies(fit_id, extremes.seqs())
        passed = (rows.apply(bodies[seq]) for seq in sorted(bodies))
        return MetricPage(tuple(body for body in passed if body is not None), max(last, after), last, findings)

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
        with self._store.begin() as work:
            return work.fits.get(fit_id).terminal

    def _last(self, fit_id: str) -> int:
        return self._cache.read(fit_id, self._read_last)

    def _read_last(self, fit_id: str) -> int:
        with self._store.begin() as work:
            work.fits.get(fit_id)
            return work.events.last_metric_seq(fit_id)


class _Extremes:
    """Of each bucket of each split the lowest and the highest row, and the first one that is not finite, by `seq`."""

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
