"""What a client looks at in a session: arrays by name, whole or in a few numbers, and a step in detail."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import engine
from app.domain.errors import Finding, NotFound
from app.domain.media import SAFETENSORS
from app.spelling.looks import profile_document, row_losses_document, statistics_document, trace_document
from app.worker.session.bench import Array, Call, Result

TOP = 10
"""Rows that spike, unless a client says how many it wants."""

Arrays = Mapping[str, Array | None]
Norm = Callable[[str], float]


class Reading:
    """The verbs of a session that change nothing."""

    def __init__(self, session: engine.Session) -> None:
        """Look at `session`."""
        self._session = session

    def gradients(self, call: Call) -> Result:
        """List the sums of gradients, or return one of them."""
        norms = self._session.norms().norms
        return _looked_at(call, self._session.gradients, norms.__getitem__)

    def parameters(self, call: Call) -> Result:
        """List the parameters, or return one of them."""
        return _looked_at(call, self._session.parameters, _norm_in(self._session.parameters))

    def buffers(self, call: Call) -> Result:
        """List the buffers, or return one of them."""
        return _looked_at(call, self._session.buffers, _norm_in(self._session.buffers))

    def row_losses(self, inputs: Mapping[str, Any], top: int | None) -> Result:
        """Return the loss of each row by itself."""
        return Result(row_losses_document(self._session.losses_by_row(inputs), TOP if top is None else top))

    def trace(self, inputs: Mapping[str, Any]) -> Result:
        """Find the first number of a step that is not finite."""
        return Result(trace_document(self._session.first_nonfinite(inputs)))

    def profile(self, inputs: Mapping[str, Any]) -> Result:
        """Measure a step node by node."""
        return Result(profile_document(self._session.profile(inputs)))


def _looked_at(call: Call, arrays: Arrays, norm: Norm) -> Result:
    name, stats = call.options.get("name"), call.options.get("stats", False)
    if name is not None:
        array = _named(arrays, name)
        return Result(statistics_document(array) if stats else array)
    if call.accept == SAFETENSORS:
        return Result({name: array for name, array in arrays.items() if array is not None})
    return Result({"object": "list", "data": [_entry(name, a, norm, stats=stats) for name, a in arrays.items()]})


def _named(arrays: Arrays, name: str) -> Array:
    if name not in arrays:
        detail = f"there is none called {name[:64]!r} here; there are {', '.join(list(arrays)[:20])}"
        raise NotFound(detail, code="unknown_name", findings=[Finding("", "unknown_name", detail)])
    array = arrays[name]
    if array is None:
        raise NotFound(f"no backward pass has reached {name!r}, so there is no gradient of it", code="no_gradient")
    return array


def _entry(name: str, array: Array | None, norm: Norm, *, stats: bool) -> dict[str, Any]:
    if array is None:
        return {"name": name, "shape": None, "dtype": None, "norm": None}
    told = {"name": name, "shape": list(array.shape), "dtype": array.dtype.name}
    return {**told, **statistics_document(array)} if stats else {**told, "norm": norm(name)}


def _norm_in(arrays: Mapping[str, Array]) -> Norm:
    def norm(name: str) -> float:
        with np.errstate(all="ignore"):
            return float(np.sqrt(np.square(arrays[name].astype(np.float64)).sum()))

    return norm
