"""Session backends: the handlers of each kind of session, snapshot and restore, and what they have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

import engine
from app.domain.documents import SAFETENSORS, finite_part
from app.domain.errors import NotFound
from app.domain.messages import SessionAssignment
from app.ingest.encoding import profile_document, row_losses_document, trace_document
from app.system.durable import HashingWriter, Writable
from app.worker.session.rows import Array, DatasetRows

Durability = Literal["log", "snapshot"]
"""How the effect of a handler survives the process: its step is logged and replayed, or, where a replay would need
files of the server, a snapshot is written right after it.
"""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a handler.

    Attributes:
        options: the options of the client, validated; arrays among them are as in JSON.
        arrays: those of a binary body by name; "" is the name of one that came as `.npy`.
        seq: the sequence number of the step, None for one that only reads.
        files: local paths of files that the options name, by field.
        accept: the requested media type, for handlers to which it makes a difference.
        export_file: writes a file for the server to import, and returns its name once it is durable.
    """

    options: Mapping[str, Any]
    arrays: Mapping[str, Array]
    seq: int | None
    files: Mapping[str, str]
    accept: str
    export_file: Callable[[Callable[[Writable], None]], str]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a handler.

    `document` is plain data with arrays and floats of any value, one array, or None. In JSON, arrays become tensor
    documents and non-finite numbers null, with their names beside; in safetensors and `.npy`, arrays are separate.
    A text is returned unchanged. `file` is the name of an exported file.
    """

    document: dict[str, Any] | Array | str | None = field(default_factory=dict)
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Handler:
    """How to execute a verb.

    `run` changes nothing if it raises an EngineError, an ApiError or a MemoryError, which become the reply;
    after any other error the session is restored from disk. Its effect must depend on nothing but the backend and
    the call, to the bit: otherwise a replay would not reproduce it. A handler with a `durability` of None only
    reads.
    """

    run: Callable[[Call], Result]
    durability: Durability | None = None


class SessionBackend(ABC):
    """The arrays and handlers of a session. One call at a time.

    Attributes:
        handlers: the handlers by verb; "batch" and "operation" are handled by the session itself.
    """

    handlers: Mapping[str, Handler]
    _session: engine.Session | engine.StaticSession

    def __init__(self, assignment: SessionAssignment) -> None:
        request = assignment.request
        self._saved = frozenset(assignment.saved)
        self._rows = DatasetRows(request["dataset"], request["feeds"] or {}, request.get("classes"))

    @property
    @abstractmethod
    def standing(self) -> dict[str, Any]:
        """The position: `step` (of the optimizer), `passes`, and `tapes`, the number of tapes."""

    @property
    def has_transient_state(self) -> bool:
        """Whether there is state that no snapshot contains and a replay recreates, tapes for instance."""
        return False

    def discard_transient(self) -> None:  # noqa: B027 (most have none)
        """Discard the state that no snapshot contains, after its maximum age."""

    def attach(
        self,
        dataset: str,
        columns: Mapping[str, list[str]],
        names: Mapping[str, list[str]] | None = None,
        classes: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the rows of a dataset available: the file paths of each column, for text its class names.

        `classes` are those of the model by input, if the dataset has added some.
        """
        self._rows.attach(dataset, columns, names, classes)

    @abstractmethod
    def start_from(self, path: Path, *, parameters_only: bool) -> None:
        """Initialise a new session from a checkpoint.

        Raises:
            EngineError: it does not fit the session.
        """

    def snapshot(self, file: Writable) -> None:
        """Write all state that later steps depend on, except transient state."""
        self._session.snapshot().write(file)

    def restore(self, path: Path) -> Mapping[str, Any]:
        """Restore a snapshot, and return the fingerprint of the numerics that computed it.

        Raises:
            EngineError: it is damaged.
        """
        checkpoint = engine.Checkpoint.load(path)
        self._session.restore(checkpoint)
        fingerprint: Mapping[str, Any] = checkpoint.meta["fingerprint"]
        return fingerprint


def export_checkpoint(call: Call, checkpoint: Callable[[], engine.Checkpoint], fields: dict[str, Any]) -> Result:
    """Write a checkpoint for the server to import, and reply with `fields`, its digest and its size."""
    document = {**fields}

    def write(file: Writable) -> None:
        hashed = HashingWriter(file)
        checkpoint().write(hashed)
        document.update(digest=hashed.digest, size_bytes=hashed.size)

    name = call.export_file(write)
    return Result(document, name)


def with_classes(checkpoint: engine.Checkpoint, classes: Mapping[str, engine.ClassEncoding]) -> engine.Checkpoint:
    """Return a checkpoint whose meta holds the class names of the model by input."""
    return replace(checkpoint, meta=engine.meta_with_classes(checkpoint.meta, classes))


TOP_ROWS = 10
"""Default number of outlier rows."""

Arrays = Mapping[str, Array | None]

STATISTICS = ("mean", "min", "max", "nan_count", "inf_count", "histogram")


class StepDiagnostics:
    """Handlers of a training session that change nothing."""

    def __init__(self, session: engine.Session) -> None:
        self._session = session

    def gradients(self, call: Call) -> Result:
        """List the sums of gradients, or return one of them."""
        return view_arrays(call, self._session.gradients, self._session.parameters)

    def parameters(self, call: Call) -> Result:
        """List the parameters, or return one of them."""
        return view_arrays(call, self._session.parameters, self._session.parameters)

    def buffers(self, call: Call) -> Result:
        """List the buffers, or return one of them."""
        return view_arrays(call, self._session.buffers, self._session.parameters)

    def row_losses(self, inputs: Mapping[str, Any], top: int | None) -> Result:
        """Return the loss of each row by itself."""
        found = engine.RowLosses.of(self._session.losses_by_row(inputs), TOP_ROWS if top is None else top)
        return Result(row_losses_document(found))

    def trace(self, inputs: Mapping[str, Any]) -> Result:
        """Find the first number of a step that is not finite."""
        return Result(trace_document(self._session.first_nonfinite(inputs)))

    def profile(self, inputs: Mapping[str, Any]) -> Result:
        """Measure a step node by node."""
        return Result(profile_document(self._session.profile(inputs)))


def view_arrays(call: Call, arrays: Arrays, parameters: Mapping[str, Array]) -> Result:
    """List arrays by name, or return the one that the call names; None stands for one that does not exist yet."""
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
    fields = {"name": name, "shape": list(array.shape), "dtype": array.dtype.name}
    return {**fields, **finite, "nonfinite": nonfinite, **rest}


def _statistics(array: Array) -> tuple[dict[str, float | None], dict[str, Any]]:
    """Return the numbers of an array in a few of them, those that may not be finite first."""
    found = engine.array_statistics(array)
    numbers = {"norm": found.norm, "mean": found.mean, "min": found.min, "max": found.max}
    histogram = {"edges": found.edges, "counts": found.counts}
    return numbers, {"nan_count": found.nan, "inf_count": found.inf, "histogram": histogram}


def _norm(array: Array) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.square(array.astype(np.float64)).sum()))
