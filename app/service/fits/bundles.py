"""Bundles: everything that determines the result of a fit, and that result, in one document."""

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import engine
from app.config.settings import server_version
from app.domain.clock import rfc3339
from app.domain.errors import Conflict, Gone, NotFound
from app.domain.fit import Attempt, FitRecord, FitState, Origin, VariantConfig, sweep_config_of
from app.domain.records import CheckpointRecord, DatasetRecord, GraphRecord
from app.service.fits.admission import recipe_of
from app.service.fits.metrics import scan_rows
from app.service.resources.blobs import Integrity
from app.store.unit_of_work import Store, UnitOfWork


def digest_outcome(steps: int, rows: Iterable[str], state: Mapping[str, str]) -> dict[str, Any]:
    """Return the compared results of a fit (see `app.domain.runtime`).

    Args:
        steps: the last step.
        rows: its metric rows as they are stored.
        state: the digests of its last checkpoint.
    """
    return {"steps": steps, "metrics": _digest_rows(rows), **state}


def digest_state(integrity: Integrity, checkpoint: CheckpointRecord) -> dict[str, str]:
    """Return the digests of a checkpoint's parameters, buffers and optimizer state; raise Corrupt if its file is
    damaged.
    """
    return dict(engine.state_digest(engine.Checkpoint.load(integrity.checkpoint(checkpoint))))


def find_last_checkpoint(checkpoints: Iterable[CheckpointRecord], step: int) -> CheckpointRecord | None:
    """Return the newest checkpoint of the last step of a fit, None if it was deleted."""
    return max((each for each in checkpoints if each.step == step), key=lambda each: each.id, default=None)


def _digest_rows(rows: Iterable[str]) -> dict[str, Any]:
    """Return the number of rows, and the SHA-256 of them as lines."""
    digest, count = hashlib.sha256(), 0
    for row in rows:
        digest.update(row.encode() + b"\n")
        count += 1
    return {"rows": count, "digest": digest.hexdigest()}


FORMAT = "adjoint-bundle/1"


class Bundles:
    """The use case of bundles."""

    def __init__(self, store: Store, integrity: Integrity) -> None:
        self._store = store
        self._integrity = integrity

    def of_fit(self, fit_id: str) -> dict[str, Any]:
        """Return the bundle of a succeeded fit; it is the same as long as the fit does not change.

        Raises Conflict if it has not succeeded, or is a sweep; Gone if its graph, one of its datasets or its last
        checkpoint was deleted; Corrupt if the file of that checkpoint, or of the one that it was forked from, is
        damaged.
        """
        with self._store.read() as work:
            fit = work.fits.get(fit_id)
            _check_result(fit)
            _check_single(work, fit)
            graph = _require_present(work.graphs.get, fit.graph_id)
            datasets = [_require_present(work.datasets.get, each) for each in fit.dataset_ids]
            validation = [_require_present(work.datasets.get, each) for each in fit.validation_ids]
            attempts = work.attempts.for_fit(fit_id)
            last = find_last_checkpoint(work.checkpoints.kept(fit_id), fit.step)
            begun_from = () if fit.origin is None else work.checkpoints.with_digest(fit.origin["digest"])
        if last is None:
            raise Gone(f"the last checkpoint of fit {fit_id} was deleted, and with it what it came to")
        return {
            "object": "bundle",
            "format": FORMAT,
            "fit": _describe_fit(fit),
            "server": {
                "version": server_version(),
                "python": platform.python_version(),
                "numpy": np.__version__,
            },
            "graph": _describe_graph(graph),
            "datasets": [_describe_dataset(each) for each in datasets],
            "validation_datasets": [_describe_dataset(each) for each in validation],
            "request": fit.request,
            "seed": engine.read_recipe(recipe_of(fit.request)).seed,
            "runtime": _describe_runtime(fit),
            "bit_exact": fit.bit_exact,
            "reopened_at": fit.reopened_at,
            "origin": self._origin(fit, begun_from),
            "attempts": [_describe_attempt(each) for each in attempts],
            "result": self._result(fit, last),
        }

    def _result(self, fit: FitRecord, last: CheckpointRecord) -> dict[str, Any]:
        rows = (row for _, row in scan_rows(self._store, fit.id))
        return {
            "state": fit.state.value,
            "stop_reason": fit.stop_reason,
            "total_steps": fit.total_steps,
            "epoch": fit.epoch,
            "checkpoint": {"id": last.id, "digest": last.digest},
            **digest_outcome(fit.step, rows, digest_state(self._integrity, last)),
        }

    def _origin(self, fit: FitRecord, begun_from: Sequence[CheckpointRecord]) -> dict[str, Any] | None:
        """Return the origin of a fork, with the content of the checkpoint unless it was deleted."""
        if fit.origin is None:
            return None
        origin = Origin(**fit.origin)
        return {
            "checkpoint": origin.checkpoint,
            "fit": origin.fit,
            "step": origin.step,
            "digest": origin.digest,
            "restore": origin.restore,
            "state": digest_state(self._integrity, begun_from[0]) if begun_from else None,
        }


def _check_result(fit: FitRecord) -> None:
    if not fit.terminal:
        raise Conflict(f"fit {fit.id} is {fit.state}; wait until it is terminal", code="not_terminal")
    if fit.state is not FitState.SUCCEEDED:
        raise Conflict(
            f"fit {fit.id} has {fit.state}: it came to no result that could be reproduced; resume it, or submit it "
            "again",
            code="not_succeeded",
        )


def _check_single(work: UnitOfWork, fit: FitRecord) -> None:
    if fit.sweep is not None:
        raise Conflict(
            f"fit {fit.id} is a sweep; each of its variants, which are fits, has a bundle of its own", code="is_sweep"
        )
    if fit.parent_id is not None and fit.variant is not None:
        rungs, come_to = sweep_config_of(work.fits.get(fit.parent_id)).rungs, len(VariantConfig(**fit.variant).reached)
        if fit.step < fit.total_steps and fit.step in rungs[:come_to]:
            raise Conflict(
                f"fit {fit.id} was left behind by its sweep at step {fit.step}: where it ended was decided by other "
                "fits, so it cannot be reproduced alone",
                code="left_behind",
            )


def _require_present(get: Any, resource_id: str) -> Any:
    try:
        return get(resource_id)
    except NotFound as error:
        raise Gone(f"{resource_id}, which the fit was made of, was deleted, so there is no bundle of it") from error


def _describe_fit(fit: FitRecord) -> dict[str, Any]:
    moments = {"created_at": fit.created_at, "started_at": fit.started_at, "finished_at": fit.finished_at}
    encoded = {name: None if moment is None else rfc3339(moment) for name, moment in moments.items()}
    return {"id": fit.id, "labels": fit.labels, **encoded}


def _describe_graph(graph: GraphRecord) -> dict[str, Any]:
    return {"id": graph.id, "name": graph.name, "digest": graph.digest, "definition": graph.definition}


def _describe_dataset(dataset: DatasetRecord) -> dict[str, Any]:
    return {
        "id": dataset.id,
        "name": dataset.name,
        "digest": dataset.digest,
        "rows": dataset.rows,
        "columns": [
            {
                "name": column.name,
                "dtype": column.dtype,
                "shape": list(column.shape),
                "digest": column.blob,
                "classes": None if column.classes is None else list(column.classes),
            }
            for column in dataset.columns
        ],
    }


def _describe_runtime(fit: FitRecord) -> dict[str, Any] | None:
    if fit.runtime is None:
        return None
    return {name: fit.runtime[name] for name in ("executor", "threads", "fingerprint")}


def _describe_attempt(attempt: Attempt) -> dict[str, Any]:
    return {"number": attempt.number, "outcome": attempt.outcome}
