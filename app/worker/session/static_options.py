"""What the options of a verb of a static session mean: graphs and tensors by name, arrays, faults with their place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import engine
from app.domain.errors import Conflict, Finding, Invalid, NotFound
from app.domain.pointers import escaped
from app.service.resources.engine_faults import engine_faults, invalid
from app.worker.session.bench import Array, Call, Lasts, Result, Verb

MAIN = "main"

STANDING_IN_THE_WAY = (engine.GraphError, engine.LimitError, engine.PoolPaused, engine.PoolBusy, engine.PoolMissing)
"""What a client can clear out of the way by another step: the request may be fine, the session is not ready for it."""

CODES = {engine.Status.FAILED: "compute_failed", engine.Status.ALLOC_FAILED: "alloc_failed"}


Run = Callable[[Call], dict[str, Any] | Array | str]


def step(run: Run, lasts: Lasts = "log") -> Verb:
    """Make a verb of what changes something."""
    return Verb(_refusing(run), lasts)


def read(run: Run) -> Verb:
    """Make a verb of what only looks; a name that nothing has is NotFound."""

    def look(call: Call) -> dict[str, Any] | Array | str:
        try:
            return run(call)
        except engine.UnknownName as error:
            raise NotFound(str(error), code=error.code) from error

    return Verb(_refusing(look))


def _refusing(run: Run) -> Callable[[Call], Result]:
    def carried_out(call: Call) -> Result:
        with _refusals():
            return Result(run(call))

    return carried_out


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise what is in the way as Conflict, and a computation that broke off with ggml's name for that."""
    try:
        yield
    except engine.ComputeError as error:
        status = engine.Status(error.status)
        extensions = {"compute_status": status.name, "compute_status_code": int(status)}
        raise Invalid(f"{error}; nothing was changed", code=CODES[status], extensions=extensions) from error
    except STANDING_IN_THE_WAY as error:
        raise Conflict(str(error), code=error.code) from error


def graph_of(session: engine.StaticSession, call: Call) -> str:
    """Return the name of the graph that is meant; Invalid if there is none of that name."""
    name = str(call.options.get("graph", MAIN))
    with engine_faults("/graph"):
        session.graph(name)
    return name


def known(session: engine.StaticSession, call: Call, field: str) -> list[str]:
    """Return the names in a field; Invalid with the places of those that nothing has."""
    names: Sequence[str] = call.options.get(field) or ()
    graph, faults = graph_of(session, call), []
    for place, name in enumerate(names):
        try:
            session.value(name, graph)
        except engine.UnknownName as error:
            faults.append(Finding(f"/{field}/{place}", error.code, str(error)))
    if faults:
        raise invalid(faults)
    return list(names)


def arrays_of(session: engine.StaticSession, call: Call, field: str) -> dict[str, Array]:
    """Return the tensors of a field, or of the body in its place, that leaves can take; Invalid with their places."""
    graph = graph_of(session, call)
    read = tensors_at(session, graph, _given(call, field), f"/{field}")
    found = {**read, **{_named(session, name): array for name, array in call.arrays.items()}}
    for name, array in found.items():
        with engine_faults(f"/{field}/{escaped(name)}"), _refusals():
            session.check_set(name, array, graph)
    return found


def _given(call: Call, field: str) -> Mapping[str, Any]:
    given: Mapping[str, Any] = call.options.get(field) or {}
    return given


def tensors_at(session: engine.StaticSession, graph: str, given: Mapping[str, Any], pointer: str) -> dict[str, Array]:
    """Read tensors of a request by the names of values, each as one of its value's dtype; `given` stands at `pointer`.

    A name that nothing has is for the session to refuse.
    """
    found = {}
    for name, document in given.items():
        value = session.find(name, graph)
        found[name] = tensor_at(document, f"{pointer}/{escaped(name)}", None if value is None else value.dtype)
    return found


def tensor_at(document: Any, pointer: str, dtype: np.dtype[Any] | None) -> Array:
    """Read a tensor of a request; `dtype` is that of what the numbers are for, where C's casts cut fractions."""
    with engine_faults():
        return engine.read_tensor_document(document, pointer, dtype, truncate=True)


def _named(session: engine.StaticSession, name: str) -> str:
    """Return whose array it is: one without a name is that of the only input."""
    inputs = list(session.definition.inputs)
    if name or len(inputs) == 1:
        return name or inputs[0]
    raise Invalid(f"an .npy body is for a graph with one input; this one has {len(inputs)}: send them by name")
