"""What the curve of a fit holds by now: filters that match none of it are told of, not answered with nothing."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from app.domain.errors import Finding
from app.domain.nearest import nearest
from app.service.fits.stored_rows import scan_rows
from app.store.unit_of_work import Store

FITS_MAX = 256


@dataclass(slots=True)
class Contents:
    """Names of values, splits and the last step of the first `rows` metric rows of a fit."""

    rows: int = 0
    last_step: int = 0
    keys: set[str] = field(default_factory=set)
    splits: set[str] = field(default_factory=set)

    def see(self, seq: int, body: str) -> None:
        """Count a row."""
        row = orjson.loads(body)
        self.rows = seq
        self.last_step = max(self.last_step, row["step"])
        self.keys.update(row["values"])
        self.splits.add(row["split"])


class CurveContents:
    """The contents of the curves that were last asked for, each read once: rows never change."""

    def __init__(self, store: Store) -> None:
        """Read from `store`."""
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Contents] = OrderedDict()

    def are_known(self, fit_id: str, *, keys: tuple[str, ...], every: int, split: str | None) -> bool:
        """Whether each part of a filter is known to match some row; never waits for a reading."""
        if not keys and every == 1 and split is None:
            return True
        contents = self._known.get(fit_id)
        return contents is not None and not any(_unmatched(contents, keys, every, split))

    def unmatched(
        self, fit_id: str, stored: int, *, keys: tuple[str, ...], every: int, split: str | None
    ) -> tuple[Finding, ...]:
        """Return what of a filter matches none of the `stored` rows of a fit; nothing where there are no rows yet."""
        with self._lock:
            contents = self._known.setdefault(fit_id, Contents())
            self._known.move_to_end(fit_id)
            if len(self._known) > FITS_MAX:
                self._known.popitem(last=False)
            if any(_unmatched(contents, keys, every, split)):
                for seq, body in scan_rows(self._store, fit_id, contents.rows, stored):
                    contents.see(seq, body)
            return tuple(_faults(contents, keys, every, split)) if stored else ()


def _unmatched(contents: Contents, keys: tuple[str, ...], every: int, split: str | None) -> Iterator[bool]:
    """Tell of each part of a filter whether it matches no row."""
    yield from (key not in contents.keys for key in keys)
    yield split is not None and split not in contents.splits
    yield every > max(contents.last_step, 1)


def _faults(contents: Contents, keys: tuple[str, ...], every: int, split: str | None) -> Iterator[Finding]:
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
