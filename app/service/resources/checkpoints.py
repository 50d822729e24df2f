"""Checkpoints: upload, list, download, predict, pin, delete."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

import engine
from app.domain.documents import escape
from app.domain.errors import Conflict, Finding, Gone, NotFound, storage_faults
from app.domain.ids import is_id, new_id
from app.domain.records import CheckpointRecord, GraphRecord
from app.service.resources.engine_documents import engine_faults, invalid, read_definition
from app.service.resources.idempotency import SaveResponse
from app.service.resources.model_classes import with_recorded_classes
from app.service.resources.storage import StorageContext
from app.service.resources.workers import ComputeRequest, ModelReference
from app.store.blobs.store import BlobWriter
from app.store.lists import ALL, Filters, check_filter_id
from app.store.pages import Page, PageRequest

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
COUNT_MAX = 2**63
HEADER_BYTES_MAX = 2 * 1024**2
NAME_MAX = 64

Array = NDArray[Any]


def read_uploaded_checkpoint(path: Path, definition: engine.Definition) -> engine.Checkpoint:
    """Return the checkpoint in a file.

    Invalid if that is no safetensors file, or does not have the parameters and buffers of the graph with their shapes;
    the pointers name tensors. A file of plain tensors, such as PyTorch's, need not distinguish buffers from parameters.
    """
    _check_header(path)
    with engine_faults():
        loaded = engine.Checkpoint.load(path)
    findings = [*_tensor_mismatches(loaded, definition), *_invalid_counts(loaded.cursor)]
    # Averages take the place of parameters where predictions are made.
    findings = findings or [*_tensor_mismatches(loaded.averaged(), definition)]
    if findings:
        raise invalid(findings)
    return loaded


def _check_header(path: Path) -> None:
    """Invalid if the header is larger than any graph needs: what it becomes in memory may be 30 times as large."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if HEADER_BYTES_MAX < length < path.stat().st_size:
        detail = f"the header has {length} bytes; at most {HEADER_BYTES_MAX} are read"
        raise invalid([Finding("", "header_too_large", detail)])


def _tensor_mismatches(loaded: engine.Checkpoint, definition: engine.Definition) -> Iterator[Finding]:
    """Yield what the tensors of a checkpoint and the state of a graph do not have in common."""
    buffers = {**loaded.parameters, **loaded.buffers}
    for specs, arrays, what in (
        (definition.parameters, loaded.parameters, "parameter"),
        (definition.buffers, buffers, "buffer"),
    ):
        for name, spec in specs.items():
            yield from _tensor_mismatch(what, name, spec, arrays.get(name))
    known = {*definition.parameters, *definition.buffers}
    for name in {**loaded.parameters, **loaded.buffers}:
        if name not in known:
            yield Finding(_pointer(name), "unknown_name", "the graph has neither a parameter nor a buffer of this name")


def _tensor_mismatch(what: str, name: str, spec: Any, array: Array | None) -> Iterator[Finding]:
    if array is None:
        yield Finding("", "missing_field", f"the {what} {name!r} is missing")
    elif array.shape != spec.shape:
        shapes = f"{list(array.shape)}, the graph's {what} {list(spec.shape)}"
        yield Finding(_pointer(name), "shape_mismatch", f"the tensor has shape {shapes}")
    elif not _converts(array.dtype, spec.dtype):
        dtypes = f"{array.dtype.name}, the graph's {what} {spec.dtype.name}"
        yield Finding(_pointer(name), "dtype_mismatch", f"the tensor has dtype {dtypes}")


def _converts(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    if wanted.name in FLOATS:
        return dtype.name in FLOATS
    return dtype.name not in FLOATS and np.can_cast(dtype, wanted, "same_kind")


def _invalid_counts(cursor: Mapping[str, Any]) -> Iterator[Finding]:
    for name in ("step", "epoch"):
        count = cursor.get(name, 0)
        if type(count) is not int or not 0 <= count < COUNT_MAX:
            yield Finding("/__metadata__/adjoint", "out_of_range", f"the cursor's {name} is no count of {name}s")


def _pointer(name: str) -> str:
    """Point at a tensor; at the file where its name is not one that anybody can read."""
    plain = name.isascii() and name.isprintable() and len(name) <= NAME_MAX
    return f"/{escape(name)}" if plain else ""


Alias = Literal["latest", "best"]


class Checkpoints:
    """The use cases of checkpoints."""

    def __init__(self, storage: StorageContext) -> None:
        """Keep records and files in `storage`; generated files are below its scratch directory until they are sent."""
        self._store = storage.store
        self._blobs = storage.blobs
        self._integrity = storage.integrity
        self._sweeper = storage.sweeper
        self._scratch = storage.scratch
        self._space = storage.space
        self._clock = storage.clock

    def open_upload(self) -> BlobWriter:
        """Open a writer for the bytes of an upload; leave its context and nothing is left of them."""
        self._space.check()
        return self._blobs.writer()

    def create(
        self, upload: BlobWriter, graph_id: str, save_response: SaveResponse[CheckpointRecord]
    ) -> CheckpointRecord:
        """Store what was written to `upload` as a checkpoint of the graph; Invalid if it is none of it."""
        definition = read_definition(self._graph(graph_id).definition)
        with self._sweeper.paused() as stored:
            blob = upload.commit()
            stored.add(blob.digest)
            self._space.check(blob.size)
            loaded = read_uploaded_checkpoint(self._blobs.local_path(blob.digest), definition)
            checkpoint = CheckpointRecord(
                id=new_id("ckpt"),
                fit_id=None,
                graph_id=graph_id,
                step=loaded.cursor.get("step", 0),
                epoch=loaded.cursor.get("epoch", 0),
                digest=blob.digest,
                size_bytes=blob.size,
                metrics={},
                created_at=self._clock.now(),
                is_best=False,
                deleted=False,
            )
            with self._store.begin() as work:
                work.graphs.get(graph_id)  # it may have been deleted since
                work.checkpoints.add(checkpoint)
                save_response(work, checkpoint)
        return checkpoint

    def of_fit(self, fit_id: str, page: PageRequest, filters: Filters = ALL) -> Page[CheckpointRecord]:
        """Return a page of the fit's checkpoints; NotFound if there is no such fit."""
        with self._store.read() as work:
            work.fits.get(fit_id)
            return work.checkpoints.list(page, filters, fit=fit_id)

    def list(
        self,
        page: PageRequest,
        filters: Filters = ALL,
        *,
        fit: str | None = None,
        session: str | None = None,
        graph: str | None = None,
    ) -> Page[CheckpointRecord]:
        """Return a page of the checkpoints that are kept: of a fit, a session and a graph, where these are given.

        Invalid if there is none of that id.
        """
        with self._store.read() as work:
            found = work.checkpoints.list(page, filters, fit=fit, session=session, graph=graph)
            if not found.items:
                check_filter_id("fit", "fit", fit, work.fits.get)
                check_filter_id("session", "sess", session, work.sessions.get)
                check_filter_id("graph", "graph", graph, work.graphs.get)
            return found

    def alias(self, fit_id: str, alias: Alias) -> CheckpointRecord:
        """Return the fit's furthest or best checkpoint; NotFound if it has none yet."""
        with self._store.read() as work:
            work.fits.get(fit_id)
            found = work.checkpoints.latest(fit_id) if alias == "latest" else work.checkpoints.best(fit_id)
        if found is None:
            raise NotFound(f"fit {fit_id} has no {alias} checkpoint; wait until one is written", code="no_checkpoint")
        return found

    def get(self, checkpoint_id: str) -> CheckpointRecord:
        """Return the checkpoint; NotFound if there never was one, Gone if it is deleted."""
        with self._store.read() as work:
            return _require_kept(work.checkpoints.get(checkpoint_id))

    def signed_url(self, checkpoint_id: str) -> tuple[CheckpointRecord, str | None]:
        """Return the checkpoint and a URL of its file, None if the server sends it itself."""
        checkpoint = self.get(checkpoint_id)
        return checkpoint, self._integrity.signed_url(checkpoint.digest, marked=checkpoint.corrupt)

    def open(self, checkpoint_id: str) -> tuple[CheckpointRecord, BinaryIO]:
        """Return the checkpoint and its file, open for a download (see `Integrity.open_checkpoint`)."""
        checkpoint = self.get(checkpoint_id)
        return checkpoint, self._integrity.open_checkpoint(checkpoint)

    def file(self, checkpoint_id: str) -> tuple[CheckpointRecord, Path]:
        """Return the checkpoint and its file; Corrupt if that is damaged."""
        checkpoint = self.get(checkpoint_id)
        return checkpoint, self._integrity.checkpoint(checkpoint)

    @contextmanager
    def parameters_file(self, checkpoint_id: str) -> Iterator[tuple[Path, str]]:
        """Make a file of the parameters alone, which is gone after the block; yield its path and its SHA-256.

        This and all that reads the file below raise Corrupt if it is damaged. StorageFull or StorageFailed if the disk
        does not take it.
        """
        loaded = self._load(checkpoint_id)[1]
        with ExitStack() as held:
            with storage_faults("the file of the parameters"):
                folder = held.enter_context(tempfile.TemporaryDirectory(dir=self._scratch))
                path = Path(folder) / "parameters.safetensors"
                engine.Checkpoint(loaded.parameters, cursor=loaded.cursor, meta=loaded.meta).save(path)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield path, digest

    def parameters(self, checkpoint_id: str) -> dict[str, Array]:
        """Return all parameters, mapped from the file."""
        return self._load(checkpoint_id)[1].parameters

    def parameter(self, checkpoint_id: str, name: str) -> Array:
        """Return one parameter; NotFound if the graph has none of that name."""
        found = self.parameters(checkpoint_id).get(name)
        if found is None:
            raise NotFound(f"checkpoint {checkpoint_id} has no parameter of that name; list its parameters")
        return found

    def pin(self, checkpoint_id: str, *, pinned: bool) -> CheckpointRecord:
        """Keep the checkpoint when newer ones are written, or stop keeping it; Gone if it is deleted.

        One that is unpinned may be superfluous: it goes when its fit next writes a checkpoint.
        """
        with self._store.begin() as work:
            _require_kept(work.checkpoints.get(checkpoint_id))
            return work.checkpoints.pin(checkpoint_id, pinned=pinned)

    def delete(self, checkpoint_id: str) -> None:
        """Delete the file and keep the record.

        Conflict if it is pinned, or for the one that an unfinished fit would go on from.
        """
        fit_id = self.get(checkpoint_id).fit_id
        with self._store.begin() as work:
            # The fit is locked first, as by its reports, which delete checkpoints too.
            fit = None if fit_id is None else work.fits.get(fit_id)
            checkpoint = _require_kept(work.checkpoints.get(checkpoint_id))
            if checkpoint.pinned:
                raise Conflict(f"checkpoint {checkpoint_id} is pinned; unpin it first", code="pinned")
            if fit is not None and not fit.terminal:
                latest = work.checkpoints.latest(fit.id)
                if latest is not None and latest.id == checkpoint_id:
                    raise Conflict(
                        f"fit {fit.id} would go on from this checkpoint; cancel the fit first", code="in_use"
                    )
            work.checkpoints.delete(checkpoint_id)
            work.after_commit(lambda: self._sweeper.discard([checkpoint.digest]))

    def prediction(
        self, checkpoint_id: str, body: bytes, media: str, options: dict[str, Any], accept: str
    ) -> ComputeRequest:
        """Return the order to compute the graph's outputs in evaluation mode.

        `body` holds a tensor document for each input that the outputs need, or the array of one of them (`.npy`); text
        is fed as the class number that it had in training.
        """
        checkpoint, path = self.file(checkpoint_id)
        model = ModelReference(checkpoint_id, lambda: self.model_source(checkpoint, path))
        return ComputeRequest("predict", options, body, media, accept, model)

    def model_source(self, checkpoint: CheckpointRecord, path: Path) -> dict[str, Any]:
        """Return what a process needs to load the model in a checkpoint: path, definition, meta."""
        loaded = engine.Checkpoint.load(path)
        with self._store.read() as work:
            document = work.graphs.get(checkpoint.graph_id).definition
            loaded = with_recorded_classes(work, checkpoint, loaded, read_definition(document).inputs)
        return {"path": str(path), "definition": document, "meta": dict(loaded.meta)}

    def _graph(self, graph_id: str) -> GraphRecord:
        try:
            if not is_id("graph", graph_id):
                raise NotFound("such ids start with graph_")
            with self._store.read() as work:
                return work.graphs.get(graph_id)
        except NotFound as error:
            raise invalid([Finding("/graph", "not_found", f"there is no graph of this id: {error.detail}")]) from error

    def _load(self, checkpoint_id: str) -> tuple[CheckpointRecord, engine.Checkpoint]:
        checkpoint = self.get(checkpoint_id)
        return checkpoint, engine.Checkpoint.load(self._integrity.checkpoint(checkpoint))


def _require_kept(checkpoint: CheckpointRecord) -> CheckpointRecord:
    if checkpoint.deleted:
        raise Gone(f"checkpoint {checkpoint.id} was deleted; list those that the fit keeps")
    return checkpoint
