"""What the server says of a replay that has succeeded: whether it gave the same bits, and where not."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from app.domain.errors import Corrupt
from app.domain.fit import FitRecord
from app.domain.runtime import COMPARED, Comparison
from app.service.attempts.progress import AttemptReport
from app.service.attempts.recorder import read_metric_seq
from app.service.fits.bundles import digest_outcome, digest_state, find_last_checkpoint
from app.service.fits.metrics import scan_rows
from app.service.resources.blobs import Integrity
from app.store.unit_of_work import Store


def compare_replay(store: Store, integrity: Integrity, fit: FitRecord, progress: AttemptReport) -> Comparison:
    """Compare a replay with what it is to reproduce.

    Args:
        store: where its rows are, and those of the fit that is run again, if it is of this server.
        integrity: opens its checkpoints.
        fit: the replay as it is stored.
        progress: its last report, which is not stored yet; its checkpoints are blobs already.
    """
    assert fit.replay is not None
    steps = fit.step if progress.metric_rows is None else progress.metric_rows.step
    found = digest_outcome(
        steps, _new_rows(store, fit.id, progress), _final_state(store, integrity, fit, steps, progress)
    )
    differences = [name for name in COMPARED if found.get(name) != fit.replay["expected"].get(name)]
    if "metrics" not in differences:
        return Comparison(not differences, differences)
    return Comparison(
        bit_exact=False,
        differences=differences,
        first_row=_find_first_difference(_new_rows(store, fit.id, progress), _stored_rows(store, fit.replay["of"])),
    )


def _new_rows(store: Store, fit_id: str, progress: AttemptReport) -> Iterator[str]:
    """Yield the stored rows, then those of the report."""
    last = 0
    for seq, row in scan_rows(store, fit_id):
        last = seq
        yield row
    if progress.metric_rows is not None:
        yield from (row for row in progress.metric_rows.rows if read_metric_seq(row) > last)


def _stored_rows(store: Store, fit_id: str) -> Iterator[str]:
    return (row for _, row in scan_rows(store, fit_id))


def _final_state(
    store: Store, integrity: Integrity, fit: FitRecord, steps: int, progress: AttemptReport
) -> dict[str, str]:
    """Return the digests of the last checkpoint; none if its file is damaged."""
    with store.read() as work:
        kept = work.checkpoints.kept(fit.id)
    last = find_last_checkpoint((*kept, *progress.checkpoints), steps)
    try:
        return {} if last is None else digest_state(integrity, last)
    except Corrupt:
        return {}


def _find_first_difference(rows: Iterable[str], others: Iterable[str]) -> int | None:
    """Return the number of the first row that differs; None if there is none, or nothing to compare with."""
    for seq, (row, other) in enumerate(zip_longest(rows, others), 1):
        if row != other:
            return None if seq == 1 and other is None else seq
    return None
