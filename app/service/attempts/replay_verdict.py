"""The verdict on a replay that is about to succeed: whether the same bits came out."""

import json
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from app.domain.errors import Corrupt
from app.domain.fit import FitRecord
from app.domain.runtime import COMPARED, Comparison
from app.service.attempts.progress import Progress
from app.service.fits.bundles import last_checkpoint, outcome_of, state_of
from app.service.fits.metric_rows import scan_rows
from app.service.resources.blobs import Integrity
from app.store.unit_of_work import Store


def compared(store: Store, integrity: Integrity, fit: FitRecord, progress: Progress) -> Comparison:
    """Compare a replay with what it is to reproduce.

    Args:
        store: where its rows are, and those of the fit that is run again, if it is of this server.
        integrity: opens its checkpoints.
        fit: the replay as it is stored.
        progress: its last news, which are not stored yet; their checkpoints are blobs already.
    """
    assert fit.replay is not None
    steps = fit.step if progress.points is None else progress.points.step
    found = outcome_of(steps, _rows(store, fit.id, progress), _state(store, integrity, fit, steps, progress))
    differences = [name for name in COMPARED if found.get(name) != fit.replay["expected"].get(name)]
    if "metrics" not in differences:
        return Comparison(not differences, differences)
    return Comparison(
        bit_exact=False,
        differences=differences,
        first_row=_first_difference(_rows(store, fit.id, progress), _stored(store, fit.replay["of"])),
    )


def _rows(store: Store, fit_id: str, progress: Progress) -> Iterator[str]:
    """Yield the rows that are stored, then those that came after them."""
    last = 0
    for seq, row in scan_rows(store, fit_id):
        last = seq
        yield row
    if progress.points is not None:
        yield from (row for row in progress.points.rows if json.loads(row)["seq"] > last)


def _stored(store: Store, fit_id: str) -> Iterator[str]:
    return (row for _, row in scan_rows(store, fit_id))


def _state(store: Store, integrity: Integrity, fit: FitRecord, steps: int, progress: Progress) -> dict[str, str]:
    """Return the digests of the last checkpoint; none if its file is damaged."""
    with store.begin() as work:
        kept = work.checkpoints.kept(fit.id)
    last = last_checkpoint((*kept, *progress.checkpoints), steps)
    try:
        return {} if last is None else state_of(integrity, last)
    except Corrupt:
        return {}


def _first_difference(rows: Iterable[str], others: Iterable[str]) -> int | None:
    """Return the number of the first row that is another one, None if there is none or nothing to compare with."""
    for seq, (row, other) in enumerate(zip_longest(rows, others), 1):
        if row != other:
            return None if seq == 1 and other is None else seq
    return None
