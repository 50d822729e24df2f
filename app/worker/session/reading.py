"""What a client looks at in a session: arrays by name, whole or in a few numbers, and a step in detail."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import engine
from app.domain.errors import NotFound
from app.domain.finite import finite_part
from app.domain.media import SAFETENSORS
from app.ingest.encoding.looks import profile_document, row_losses_document, trace_document
from app.worker.session.bench import Array, Call, Result

TOP = 10
"""Rows that spike, unless a client says how many it wants."""

Arrays = Mapping[str, Array | None]

STATISTICS = ("mean", "min", "max", "nan_count", "inf_count", "histogram")


class Reading:
    """The verbs of a session that change nothing."""

    def __init__(self, session: engine.Session) -> None:
        """Look at `session`."""
        self._session = session

    def gradients(self, call: Call) -> Result:
        """List the sums of gradients, or return one of them."""
        return looked_at(call, self._session.gradients, self._session.parameters)

    def parameters(self, call: Call) -> Result:
        """List the parameters, or return one of them."""
        return looked_at(call, self._session.parameters, self._session.parameters)

    def buffers(self, call: Call) -> Result:
        """List the buffers, or return one of them."""
        return looked_at(call, self._session.buffers, self._session.parameters)

    def row_losses(self, inputs: Mapping[str, Any], top: int | None) -> Result:
        """Return the loss of each row by itself."""
        found = engine.RowLosses.of(self._session.losses_by_row(inputs), TOP if top is None else top)
        return Result(row_losses_document(found))

    def trace(self, inputs: Mapping[str, Any]) -> Result:
        """Find the first number of a step that is not finite."""
        return Result(trace_document(self._session.first_nonfinite(inputs)))

    def profile(self, inputs: Mapping[str, Any]) -> Result:
        """Measure a step node by node."""
        return Result(profile_document(self._session.profile(inputs)))


def looked_at(call: Call, arrays: Arrays, parameters: Mapping[str, Array]) -> Result:
    """List arrays by name, or return the one that the call names; one that is None would be as its parameter."""
    name, stats = call.options.get("name"), call.options.get("stats", False)
    if name is not None and name not in arrays:
        detail = f"there is none called {name[:64]!r} here; there are {', '.join(list(arrays)[:20])}"
        raise NotFound(detail, code="unknown_name")
    if name is not None:
        return Result(_entry(name, arrays[name], parameters, stats=True) if stats else arrays[name])
    if call.accept == SAFETENSORS:
        return Result({name: array for name, array in arrays.items() if array is not None})
    listed = [_entry(name, array, parameters, stats=stats) for name, array in arrays.items()]
    return Result({"object": "list", "data": listed})


def _entry(name: str, array: Array | None, parameters: Mapping[str, Array], *, stats: bool) -> dict[str, Any]:
    if array is None:
        like = parameters[name]
        missing = dict.fromkeys(("norm", *STATISTICS) if stats else ("norm",))
        return {"name": name, "shape": list(like.shape), "dtype": like.dtype.name, **missing, "nonfinite": {}}
    numbers, rest = _statistics(array) if stats else ({"norm": _norm(array)}, {})
    finite, nonfinite = finite_part(numbers)
    told = {"name": name, "shape": list(array.shape), "dtype": array.dtype.name}
    return {**told, **finite, "nonfinite": nonfinite, **rest}


def _statistics(array: Array) -> tuple[dict[str, float | None], dict[str, Any]]:
    """Return the numbers of an array in a few of them, those that may not be finite first."""
    found = engine.array_statistics(array)
    numbers = {"norm": found.norm, "mean": found.mean, "min": found.min, "max": found.max}
    histogram = {"edges": found.edges, "counts": found.counts}
    return numbers, {"nan_count": found.nan, "inf_count": found.inf, "histogram": histogram}


def _norm(array: Array) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.square(array.astype(np.float64)).sum()))
