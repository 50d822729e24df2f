"""The metric rows of a fit as they are stored, one after another."""

from collections.abc import Iterator

from app.store.unit_of_work import Store

CHUNK = 5000


def scan_rows(store: Store, fit_id: str, after: int = 0, chunk: int = CHUNK) -> Iterator[tuple[int, str]]:
    """Yield the rows that follow `after`, each with its `seq`.

    In a unit of work a chunk: rows never change, and a long curve must not keep writers waiting.
    """
    while True:
        with store.begin() as work:
            rows = work.events.metric_rows(fit_id, after, chunk)
        if not rows:
            return
        yield from rows
        after = rows[-1][0]
