"""Inputs of a fit: graph and rows, looked up by reference, or read from the request."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import engine
from app.domain.clock import Clock
from app.domain.column_labels import faults_by_label, with_identifiers, with_labels
from app.domain.errors import ApiError, Finding, NotFound
from app.domain.fit import ids_in
from app.domain.ids import is_id
from app.domain.records import DatasetRecord, GraphRecord
from app.service.fits.admission import Candidate
from app.service.fits.tables import completed_table_fit
from app.service.resources.datasets import Ingestion, UploadOptions
from app.service.resources.engine_documents import GRAPH_LIMITS, invalid, read_definition
from app.service.resources.inline_graphs import inline_graph
from app.service.resources.read_through_cache import ReadThroughCache
from app.store.unit_of_work import Store, UnitOfWork

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FitInputs:
    """The inputs of a fit, and which of them are inline and not stored yet."""

    graph: GraphRecord
    definition: engine.Definition
    datasets: Sequence[DatasetRecord]
    validation: Sequence[DatasetRecord]
    request: Mapping[str, Any]
    labels: Mapping[str, str]
    graph_is_inline: bool
    rows_are_new: bool

    def candidate(self, request: Mapping[str, Any], runtime: Mapping[str, Any] | None = None) -> Candidate:
        """Return the fit that a request makes of them; `runtime` is what it ran with before, or goes on from."""
        return Candidate(request, self.definition, self.graph.digest, self.datasets, self.validation, runtime)

    def store(self, work: UnitOfWork) -> None:
        """Store the new inputs; raise NotFound if a referenced one was deleted in the meantime."""
        if self.graph_is_inline:
            work.graphs.ensure(self.graph)
        else:
            work.graphs.get(self.graph.id)
        if self.rows_are_new:
            work.datasets.add(*self.datasets)
        kept = () if self.rows_are_new else self.datasets
        for dataset in (*kept, *self.validation):
            work.datasets.get(dataset.id)


DEFINITIONS_KEPT = 64
NODES_KEPT = 1000
NUMBERS_KEPT = 10_000


def _is_small(definition: engine.Definition) -> bool:
    """Return whether the definition is small enough to be cached."""
    numbers = sum(constant.size for constant in definition.constants.values())
    return len(definition.nodes) <= NODES_KEPT and numbers <= NUMBERS_KEPT


class InputReader:
    """Looks up or reads the inputs of a request. Small graphs are cached."""

    def __init__(
        self, store: Store, ingestion: Ingestion, clock: Clock, limits: engine.GraphLimits = GRAPH_LIMITS
    ) -> None:
        """Look up inputs in `store`; inline rows are parsed by `ingestion`, graphs must be within `limits`."""
        self._store = store
        self._ingestion = ingestion
        self._clock = clock
        self._limits = limits
        self._definitions: ReadThroughCache[engine.Definition] = ReadThroughCache(DEFINITIONS_KEPT, _is_small)

    def read(self, request: Mapping[str, Any], stored: set[str]) -> FitInputs:
        """Return the inputs of the request; the digests of blobs that are written are added to `stored`.

        Raises Invalid, with pointers into the request, for inputs that do not exist or cannot be read.
        """
        request = with_identifiers(request)
        graph, dataset = request.get("graph"), request["dataset"]
        inline = isinstance(dataset, Mapping)
        with self._store.read() as work:
            known = resolve("/graph", "graph", graph, work.graphs.get) if isinstance(graph, str) else None
            kept_rows = () if inline else resolve_datasets("/dataset", dataset, work)
            held_out = (request.get("validation") or {}).get("dataset")
            validation = resolve_datasets("/validation/dataset", held_out, work)
        rows = (self._ingest(dataset, stored),) if inline else kept_rows
        labels = {name: label for each in (*validation, *reversed(rows)) for name, label in each.labels.items()}
        if request.get("target") is not None:
            with faults_by_label(labels):
                request = completed_table_fit(request, rows)
            graph = request["graph"]
        if labels and request.get("columns") is not None:
            request = {**request, "columns": with_labels(request["columns"], labels)}
        definition = read_definition(graph, "/graph", self._limits) if known is None else self._definition(known)
        record = known or inline_graph(definition, self._store, self._clock)
        return FitInputs(record, definition, rows, validation, request, labels, known is None, inline)

    def _definition(self, graph: GraphRecord) -> engine.Definition:
        """Return the definition of a stored graph; definitions never change."""
        return self._definitions.read(graph.id, lambda _: read_definition(graph.definition, "/graph"))

    def _ingest(self, document: Mapping[str, Any], stored: set[str]) -> DatasetRecord:
        with self._ingestion.open() as upload:
            upload.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())
            try:
                return self._ingestion.read(upload, UploadOptions("json"), stored)
            except ApiError as error:
                error.findings = tuple(replace(fault, pointer=f"/dataset{fault.pointer}") for fault in error.findings)
                raise


def resolve(pointer: str, prefix: str, resource_id: str, get: Callable[[str], T]) -> T:
    """Return a referenced resource; raise Invalid, with a pointer to the reference, if it does not exist."""
    if is_id(prefix, resource_id):
        try:
            return get(resource_id)
        except NotFound as error:
            raise invalid([Finding(pointer, "not_found", error.detail)]) from error
    raise invalid(
        [Finding(pointer, "not_found", f"{resource_id[:40]!r} is no id of this kind; such ids start with {prefix}_")]
    )


def resolve_datasets(pointer: str, named: str | Sequence[str] | None, work: UnitOfWork) -> tuple[DatasetRecord, ...]:
    """Return the datasets that a field refers to: one, several or none."""
    listed = named is not None and not isinstance(named, str)
    return tuple(
        resolve(f"{pointer}/{place}" if listed else pointer, "ds", dataset_id, work.datasets.get)
        for place, dataset_id in enumerate(ids_in(named))
    )
