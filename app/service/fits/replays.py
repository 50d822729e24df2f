"""Replays: fits that reproduce another fit from its bundle."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import engine
from app.domain.errors import ApiError, Conflict, Finding, NotFound
from app.domain.fit import ids_in
from app.domain.records import CheckpointRecord, DatasetRecord
from app.domain.runtime import COMPARED, NUMPY, Replay, changed_numerics
from app.service.fits.view import FitView
from app.service.resources.engine_documents import invalid, read_definition
from app.service.resources.idempotency import SaveResponse
from app.store.unit_of_work import Store, UnitOfWork

NOT_REPLAYED = frozenset({"name", "labels", "resources", "start_paused", "from_checkpoint"})
"""Fields of a request that do not determine results; the origin of a fork is in the bundle."""


def rebuild_request(work: UnitOfWork, bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request that runs the fit of a bundle again, but for labels and resources.

    Invalid if data or a checkpoint of the same content is not stored here; a graph that is not comes inline.
    """
    faults: list[Finding] = []
    datasets = _find_datasets(work, bundle, "datasets", faults)
    validation = _find_datasets(work, bundle, "validation_datasets", faults)
    begun_from = _find_origin(work, bundle, faults)
    if faults:
        raise invalid(faults)
    request = {**_rebuild_recipe(bundle), "graph": _find_graph(work, bundle), "dataset": datasets}
    if validation:
        request["validation"] = {**request["validation"], "dataset": validation}
    if begun_from is None:
        return request
    # A fork inherits omitted fields from the other fit's request; null does not inherit.
    before = {} if begun_from.fit_id is None else work.fits.get(begun_from.fit_id).request
    began = {"checkpoint": begun_from.id, "restore": bundle["origin"]["restore"]}
    return {**dict.fromkeys(before), **request, "from_checkpoint": began}


def _rebuild_recipe(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the request that determine the numbers, without time limits."""
    recipe = {name: value for name, value in bundle["request"].items() if name not in NOT_REPLAYED}
    # Bundles of earlier releases leave out what was the default then; a fit that succeeds has the same bits by both.
    if not (recipe.get("divergence") or {}).get("action") and not (recipe.get("clip") or {}).get("nonfinite"):
        recipe["divergence"] = {**(recipe.get("divergence") or {}), "action": "continue"}
    budget, result = recipe.get("budget") or {}, bundle["result"]
    if budget.get("seconds") is not None:
        steps = result["steps"] if result["steps"] < result["total_steps"] else budget.get("steps")
        recipe["budget"] = {"steps": steps}
    return recipe


def _find_graph(work: UnitOfWork, bundle: Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Return the id of the same graph if it is stored here, else its definition.

    Equal graphs may have their parameters in another order, which the encoding of rows and the sums of norms depend on.
    """
    definition: Mapping[str, Any] = bundle["graph"]["definition"]
    encoded = json.dumps(definition)
    found = work.graphs.with_digest(bundle["graph"]["digest"], first=bundle["graph"]["id"])
    return next((graph.id for graph in found if json.dumps(graph.definition) == encoded), definition)


def _find_datasets(
    work: UnitOfWork, bundle: Mapping[str, Any], name: str, faults: list[Finding]
) -> str | list[str] | None:
    """Return the ids of the datasets that hold the same columns, as a request names them."""
    found = []
    for place, described in enumerate(bundle[name]):
        dataset = next((each for each in _candidates(work, described) if _is_same(each, described)), None)
        if dataset is None:
            detail = f"no dataset here holds the columns of the one with the digest {described['digest']}; upload it"
            faults.append(Finding(f"/{name}/{place}/digest", "not_found", detail))
        else:
            found.append(dataset.id)
    return found[0] if len(found) == 1 else found or None


def _candidates(work: UnitOfWork, described: Mapping[str, Any]) -> Iterator[DatasetRecord]:
    """Yield the datasets that share a column with the described one; the dataset itself first, if it is stored here."""
    first: Sequence[Mapping[str, Any]] = described["columns"][:1]
    shared = [dataset_id for column in first for dataset_id in work.datasets.with_column(column["digest"])]
    for dataset_id in sorted(shared, key=lambda dataset_id: dataset_id != described["id"]):
        yield work.datasets.get(dataset_id)


def _is_same(dataset: DatasetRecord, described: Mapping[str, Any]) -> bool:
    """Return whether a dataset has the described columns, under the same names."""
    columns = {column.name: (column.dtype, [*column.shape], column.blob) for column in dataset.columns}
    wanted = {column["name"]: (column["dtype"], column["shape"], column["digest"]) for column in described["columns"]}
    return dataset.rows == described["rows"] and columns == wanted and _has_same_classes(dataset, described)


def _has_same_classes(dataset: DatasetRecord, described: Mapping[str, Any]) -> bool:
    """Whether the numbers of text columns stand for the same texts; bundles from before classes were in do not say."""
    wanted = {column["name"]: column["classes"] for column in described["columns"] if column.get("classes") is not None}
    found = {column.name: list(column.classes or ()) for column in dataset.columns}
    return all(found[name] == classes for name, classes in wanted.items())


def _find_origin(work: UnitOfWork, bundle: Mapping[str, Any], faults: list[Finding]) -> CheckpointRecord | None:
    """Return a checkpoint with the content that a fork starts from, None if the fit is not a fork."""
    origin = bundle["origin"]
    if origin is None:
        return None
    # Of a fork that took the parameters only, the copy has the same content and begins to count at 0.
    usable = [
        each
        for each in work.checkpoints.with_digest(origin["digest"])
        if origin["restore"] == "parameters" or (each.fit_id is not None and each.step == origin["step"])
    ]
    if not usable:
        detail = f"no checkpoint of a fit here has the digest {origin['digest']}, with which the fit begins"
        faults.append(Finding("/origin/digest", "not_found", detail))
        return None
    return min(usable, key=lambda each: each.id != origin["checkpoint"])


CHANGED = "at step {step} the fit was reopened after its end, or resumed with other hyperparameters"


class Submit(Protocol):
    """Queues a fit (see `Fits.submit`)."""

    def __call__(
        self, request: Mapping[str, Any], save_response: SaveResponse[FitView], replay: Replay | None = None
    ) -> FitView:
        """Check and queue `request`, which is a replay."""
        ...


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of a replay: its labels and its priority."""

    labels: Mapping[str, str] = field(default_factory=dict)
    priority: str | None = None


class Replays:
    """The use case of replays."""

    def __init__(self, store: Store, bundle_of: Callable[[str], Mapping[str, Any]], submit: Submit) -> None:
        """Find the contents of bundles in `store`; `bundle_of` returns the bundle of a fit, `submit` queues fits."""
        self._store = store
        self._bundle_of = bundle_of
        self._submit = submit

    def of_fit(self, fit_id: str, terms: ReplayOptions, save_response: SaveResponse[FitView]) -> FitView:
        """Queue a fit that runs one of this server again.

        Invalid if there is no such fit; Conflict if it has not succeeded, is a sweep, or was changed on the way; Gone
        if what it was made of was deleted.
        """
        try:
            bundle = self._bundle_of(fit_id)
        except NotFound as error:
            raise invalid([Finding("/fit", "not_found", error.detail)]) from error
        if bundle["reopened_at"] is not None:
            detail = f"{CHANGED.format(step=bundle['reopened_at'])}, so that no single request reproduces it"
            raise Conflict(detail, code="changed_on_the_way")
        with _relocate_findings(lambda _pointer: "/fit"):
            return self._replay(bundle, terms, save_response)

    def of_bundle(
        self, bundle: Mapping[str, Any], terms: ReplayOptions, save_response: SaveResponse[FitView]
    ) -> FitView:
        """Queue a fit that runs the one of a bundle again, which may come from another server.

        Invalid if the bundle contradicts itself, or something that it refers to is not here.
        """
        with _relocate_findings(lambda pointer: f"/bundle{pointer}"):
            _check(bundle)
            return self._replay(bundle, terms, save_response)

    def _replay(self, bundle: Mapping[str, Any], terms: ReplayOptions, save_response: SaveResponse[FitView]) -> FitView:
        with self._store.read() as work:
            request = rebuild_request(work, bundle)
        resources = _choose_resources(bundle, terms)
        request |= {"labels": dict(terms.labels), "resources": resources}
        with _relocate_findings(lambda pointer: f"/request{pointer}"):
            return self._submit(request, save_response, _build_replay(bundle, resources))


def _check(bundle: Mapping[str, Any]) -> None:
    """Raise Invalid unless the parts of a bundle are consistent."""
    request, faults = bundle["request"], []
    if bundle["reopened_at"] is not None:
        detail = f"{CHANGED.format(step=bundle['reopened_at'])}; such fits cannot be replayed"
        faults.append(Finding("/reopened_at", "changed_on_the_way", detail))
    if request.get("sweep") is not None:
        faults.append(Finding("/request/sweep", "is_sweep", "a sweep is replayed variant by variant; leave this out"))
    if (request.get("seed") or 0) != bundle["seed"]:
        faults.append(Finding("/seed", "conflict", "this is another seed than that of the request"))
    held_out = (request.get("validation") or {}).get("dataset")
    for name, named in (("datasets", request.get("dataset")), ("validation_datasets", held_out)):
        if isinstance(named, Mapping) or len(ids_in(named)) != len(bundle[name]):
            faults.append(Finding(f"/{name}", "conflict", "these are not as many datasets as the request names by id"))
    if faults:
        raise invalid(faults)
    graph = bundle["graph"]
    if read_definition(graph["definition"], "/graph/definition").digest != graph["digest"]:
        raise invalid([Finding("/graph/digest", "digest_mismatch", "the definition beside it has another digest")])


def _choose_resources(bundle: Mapping[str, Any], terms: ReplayOptions) -> dict[str, Any]:
    """Return the resources of the replay: executor and threads of the fit, as far as available."""
    replicas = (bundle["request"].get("resources") or {}).get("replicas")
    resources: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    if terms.priority is not None:
        resources["priority"] = terms.priority
    runtime, known = bundle["runtime"], engine.executors()
    if runtime is not None:
        resources["executor"] = runtime["executor"] if runtime["executor"] in known else known[-1]
        resources["threads"] = runtime["threads"]
    return resources


def _build_replay(bundle: Mapping[str, Any], resources: Mapping[str, Any]) -> Replay:
    before = {} if bundle["runtime"] is None else bundle["runtime"]["fingerprint"]
    expected = {name: bundle["result"][name] for name in COMPARED}
    return Replay(
        of=bundle["fit"]["id"],
        expected={**expected, "fingerprint": before},
        numerics=changed_numerics(before, _expected_numerics(resources)),
    )


def _expected_numerics(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected fingerprint of a process with these resources."""
    executor = resources.get("executor") or engine.executors()[-1]
    here = engine.fingerprint(executor)
    # This process has other threads; where the library does not report how many, neither does the other one.
    if executor == NUMPY and here["blas_threads"].isdigit() and "threads" in resources:
        here["blas_threads"] = str(resources["threads"])
    return here


@contextmanager
def _relocate_findings(place: Callable[[str], str]) -> Iterator[None]:
    """Map the pointers of findings raised in the block by `place`."""
    try:
        yield
    except ApiError as error:
        error.findings = tuple(Finding(place(each.pointer), each.code, each.detail) for each in error.findings)
        raise
