"""Finding what a bundle refers to among what is stored here."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.domain.checkpoint import CheckpointRecord
from app.domain.dataset import DatasetRecord
from app.domain.errors import Finding
from app.service.resources.engine_faults import invalid
from app.store.unit_of_work import UnitOfWork

NOT_REPLAYED = frozenset({"labels", "resources", "start_paused", "from_checkpoint"})
"""Fields of a request that say who may run it when; where a fork begins, the bundle's origin tells."""


def request_of(work: UnitOfWork, bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request that runs the fit of a bundle again, but for labels and resources.

    Invalid if data or a checkpoint of the same content is not stored here; a graph that is not comes inline.
    """
    faults: list[Finding] = []
    datasets = _datasets(work, bundle, "datasets", faults)
    validation = _datasets(work, bundle, "validation_datasets", faults)
    begun_from = _begun_from(work, bundle, faults)
    if faults:
        raise invalid(faults)
    request = {**_recipe(bundle), "graph": _graph(work, bundle), "dataset": datasets}
    if validation:
        request["validation"] = {**request["validation"], "dataset": validation}
    if begun_from is None:
        return request
    # A fork takes from the other fit's request what is left out; null takes nothing.
    before = {} if begun_from.fit_id is None else work.fits.get(begun_from.fit_id).request
    began = {"checkpoint": begun_from.id, "restore": bundle["origin"]["restore"]}
    return {**dict.fromkeys(before), **request, "from_checkpoint": began}


def _recipe(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the request that decide about the numbers; no clock is among them any more."""
    recipe = {name: value for name, value in bundle["request"].items() if name not in NOT_REPLAYED}
    # Bundles of earlier releases leave out what was the default then; a fit that succeeds has the same bits by both.
    if not (recipe.get("divergence") or {}).get("action") and not (recipe.get("clip") or {}).get("nonfinite"):
        recipe["divergence"] = {**(recipe.get("divergence") or {}), "action": "continue"}
    budget, result = recipe.get("budget") or {}, bundle["result"]
    if budget.get("seconds") is not None:
        steps = result["steps"] if result["steps"] < result["total_steps"] else budget.get("steps")
        recipe["budget"] = {"steps": steps}
    return recipe


def _graph(work: UnitOfWork, bundle: Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Return the id of the same graph if it is stored here, else its definition.

    Equal graphs may name their parameters in another order, by which rows are encoded and norms are summed up.
    """
    definition: Mapping[str, Any] = bundle["graph"]["definition"]
    encoded = json.dumps(definition)
    found = work.graphs.with_digest(bundle["graph"]["digest"], first=bundle["graph"]["id"])
    return next((graph.id for graph in found if json.dumps(graph.definition) == encoded), definition)


def _datasets(work: UnitOfWork, bundle: Mapping[str, Any], name: str, faults: list[Finding]) -> str | list[str] | None:
    """Return the ids of the datasets that hold the same columns, as a request names them."""
    found = []
    for place, described in enumerate(bundle[name]):
        dataset = next((each for each in _candidates(work, described) if _same(each, described)), None)
        if dataset is None:
            detail = f"no dataset here holds the columns of the one with the digest {described['digest']}; upload it"
            faults.append(Finding(f"/{name}/{place}/digest", "not_found", detail))
        else:
            found.append(dataset.id)
    return found[0] if len(found) == 1 else found or None


def _candidates(work: UnitOfWork, described: Mapping[str, Any]) -> Iterator[DatasetRecord]:
    """Yield the datasets that share a column with the one that is described, itself first if it is here."""
    first: Sequence[Mapping[str, Any]] = described["columns"][:1]
    shared = [dataset_id for column in first for dataset_id in work.datasets.with_column(column["digest"])]
    for dataset_id in sorted(shared, key=lambda dataset_id: dataset_id != described["id"]):
        yield work.datasets.get(dataset_id)


def _same(dataset: DatasetRecord, described: Mapping[str, Any]) -> bool:
    """Whether a dataset holds the columns that are described, under the same names."""
    columns = {column.name: (column.dtype, [*column.shape], column.blob) for column in dataset.columns}
    wanted = {column["name"]: (column["dtype"], column["shape"], column["digest"]) for column in described["columns"]}
    return dataset.rows == described["rows"] and columns == wanted and _same_classes(dataset, described)


def _same_classes(dataset: DatasetRecord, described: Mapping[str, Any]) -> bool:
    """Whether the numbers of text columns stand for the same texts; bundles from before classes were in do not say."""
    wanted = {column["name"]: column["classes"] for column in described["columns"] if column.get("classes") is not None}
    found = {column.name: list(column.classes or ()) for column in dataset.columns}
    return all(found[name] == classes for name, classes in wanted.items())


def _begun_from(work: UnitOfWork, bundle: Mapping[str, Any], faults: list[Finding]) -> CheckpointRecord | None:
    """Return a checkpoint with the content that a fork begins with, None if the fit is none."""
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
