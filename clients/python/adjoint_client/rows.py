"""Rows of a dataset that the server has, as the inputs of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adjoint_client.generated.records import Dataset

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a dataset as the inputs of a step; see `Session.rows`."""

    reference: Mapping[str, Any]
    feeds: Mapping[str, str] | None = None


def rows_of(dataset: str | Dataset | None, which: slice | ArrayLike, feeds: Mapping[str, str] | None = None) -> Rows:
    """Return a reference to rows of a dataset.

    Raises:
        ValueError: the slice goes backwards, in steps, or has no end.
    """
    import numpy as np

    reference = {} if dataset is None else {"dataset": dataset if isinstance(dataset, str) else dataset.id}
    if not isinstance(which, slice):
        indices = np.asarray(which)
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise ValueError(f"rows are numbered by a list of integers, not by {indices.dtype} {list(indices.shape)}")
        return Rows({**reference, "indices": indices.tolist()}, feeds)
    start, stop = which.start or 0, which.stop
    if stop is None or which.step not in (None, 1) or min(start, stop) < 0:
        raise ValueError(f"rows {which} are not from one number up to another; list their indices instead")
    return Rows({**reference, "start": int(start), "stop": int(stop)}, feeds)
