"""The requests that a compute process handles, and how their responses are written."""

import io
import os
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.domain.documents import JSON, NPY, escape
from app.domain.errors import Finding, Invalid, StorageFull, storage_faults
from app.domain.frames import Step, from_json
from app.ingest.arrays import read_arrays
from app.ingest.encoding import (
    computed_document,
    gradcheck_document,
    json_pieces,
    profile_document,
    row_losses_document,
    trace_document,
)
from app.ingest.limits import IngestLimits
from app.service.resources.engine_documents import engine_faults, read_definition
from app.worker.compute.memory import response_too_large

Array = NDArray[Any]
Document = dict[str, Any] | Array


@dataclass(frozen=True, slots=True)
class Pieces:
    """A response that is generated while it is written."""

    media: str
    pieces: Generator[bytes]


DIAGNOSTICS: Mapping[str, tuple[Callable[..., Any], Callable[[Any], dict[str, Any]]]] = MappingProxyType(
    {
        "compute": (engine.compute, computed_document),
        "gradcheck": (engine.check_gradients, gradcheck_document),
        "profile": (engine.profile_step, profile_document),
        "row_losses": (engine.row_losses, row_losses_document),
        "trace_nonfinite": (engine.trace_nonfinite, trace_document),
    }
)
"""By verb, the diagnostic function of a graph, and the encoder of its result."""

MAX_GRAPHS = 16
SMALL_BODY = 1 << 16
"""Graphs of bodies up to this size are cached: parsing them takes longer than most requests."""


class GraphCache:
    """Graphs that were parsed before, by id."""

    def __init__(self) -> None:
        self._read: OrderedDict[str, engine.Definition] = OrderedDict()

    def get(self, graph_id: str, document: object, *, keep: bool) -> engine.Definition:
        """Return the graph of a document, parsed if it is not cached."""
        definition = self._read.pop(graph_id, None) or read_definition(document)
        if keep:
            self._read[graph_id] = definition
            if len(self._read) > MAX_GRAPHS:
                self._read.popitem(last=False)
        return definition


def run_diagnostic(step: Step, body: bytes, graphs: GraphCache, admit: engine.Admit) -> Document:
    """Run a diagnostic on a graph; Invalid, with pointers into the request."""
    fields = from_json(body)
    definition = graphs.get(step.options["graph"], fields["definition"], keep=len(body) <= SMALL_BODY)
    run, document = DIAGNOSTICS[step.verb]
    with engine_faults():
        return document(run(definition, fields["request"], admit=admit))


def predict(step: Step, body: bytes, predictor: engine.Predictor, admit: engine.Admit) -> Document:
    """Compute the outputs of a model; only one of them if the response is `.npy`."""
    output = _output(step, predictor) if step.accept == NPY else None
    inputs = _inputs(step, body, predictor)
    with engine_faults():
        inputs = predictor.encode(inputs)
    dtypes = predictor.input_dtypes
    arrays = {name: _array(name, value, dtypes.get(name)) for name, value in inputs.items()}
    with engine_faults():
        outputs = predictor.predict(arrays, admit=admit, encoded=True)
    return {"outputs": outputs, "classes": predictor.output_classes} if output is None else outputs[output]


def _inputs(step: Step, body: bytes, predictor: engine.Predictor) -> Mapping[str, Any]:
    if step.media != NPY:
        inputs: dict[str, Any] = from_json(body)["inputs"]
        return inputs
    array = read_arrays(body, NPY, IngestLimits()).arrays[""]
    name = step.options["input"]
    return dict.fromkeys(predictor.inputs[:1] if name is None else [name], array)


def _output(step: Step, predictor: engine.Predictor) -> str:
    outputs, name = predictor.definition.outputs, step.options["output"]
    if name is not None and name not in outputs:
        known = ", ".join(outputs)
        finding = Finding("/output", "unknown_name", f"there is no output of this name; the outputs are {known}")
        raise Invalid(finding.detail, code=finding.code, findings=[finding])
    return outputs[0] if name is None else str(name)


def _array(name: str, value: object, dtype: np.dtype[Any] | None) -> Array:
    if isinstance(value, np.ndarray):
        return value
    with engine_faults():
        return engine.read_tensor_document(value, f"/inputs/{escape(name)}", dtype)


INLINE_BYTES = 1 << 20
"""Longer answers go through a file."""

CHUNK = 1 << 20


class ResponseWriter:
    """Writes responses of limited length: short ones as bytes, long ones as files."""

    def __init__(self, folder: Path, max_bytes: int, min_free_bytes: int) -> None:
        """Write files to `folder` while this many bytes of its disk stay free."""
        self._folder = folder
        self._max_bytes = max_bytes
        self._min_free_bytes = min_free_bytes

    @property
    def folder(self) -> Path:
        """Where files are written."""
        return self._folder

    def write(self, name: str, document: Document | Pieces) -> tuple[str, bytes, str | None]:
        """Return the media type, and the bytes or the `name` of a file; TooLarge, StorageFull."""
        if isinstance(document, Pieces):
            with closing(document.pieces):
                return self._write_pieces(name, document.media, document.pieces)
        if isinstance(document, np.ndarray):
            return self._write_pieces(name, NPY, iter_npy(document))
        return self._write_pieces(name, JSON, json_pieces(document))

    def _write_pieces(self, name: str, media: str, pieces: Iterator[bytes]) -> tuple[str, bytes, str | None]:
        first, length = [], 0
        for piece in pieces:
            first.append(piece)
            length += len(piece)
            if length > INLINE_BYTES:
                self._write(self._folder / name, b"".join(first), pieces)
                return media, b"", name
        return media, b"".join(first), None

    def _write(self, path: Path, first: bytes, rest: Iterable[bytes]) -> None:
        written = unchecked = 0
        try:
            with storage_faults("the answer"), path.open("xb") as file:
                for piece in _chain(first, rest):
                    written += len(piece)
                    unchecked -= len(piece)
                    if unchecked < 0:
                        unchecked = self._check_space(written)
                    file.write(piece)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _check_space(self, written: int) -> int:
        """Return how many bytes may be written before the next check."""
        if written > self._max_bytes:
            raise response_too_large(self._max_bytes)
        disk = os.statvfs(self._folder)
        left = disk.f_bavail * disk.f_frsize - self._min_free_bytes
        if left < CHUNK:
            raise StorageFull("the disk has no room for the answer; free some space, then try again")
        return min(CHUNK, self._max_bytes - written)


def iter_npy(array: NDArray[Any]) -> Iterator[bytes]:
    """Encode an array as `.npy` piece by piece, as `app.ingest.encoding` does."""
    array = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    array = np.ascontiguousarray(array).reshape(array.shape)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    yield header.getvalue()
    flat = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
    for start in range(0, flat.size, CHUNK):
        yield flat[start : start + CHUNK].tobytes()


def _chain(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
