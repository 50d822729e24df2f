"""The metric rows of a fit as they are stored, one after another."""

import sys
from collections.abc import Iterator

from app.store.unit_of_work import Store

CHUNK = 5000


def scan_rows(
    store: Store, fit_id: str, after: int = 0, last: int = sys.maxsize, chunk: int = CHUNK
) -> Iterator[tuple[int, str]]:
    """Yield the rows that follow `after`, up to `last`, each with its `seq`; fewer if the fit is deleted meanwhile.

    In a unit of work a chunk: rows never change, and a long curve must not keep writers waiting.
    """
    while after < last:
        with store.begin() as work:
            rows = work.events.metric_rows(fit_id, after, min(chunk, last - after))
        if not rows:
            return
        yield from rows
        after = rows[-1][0]
