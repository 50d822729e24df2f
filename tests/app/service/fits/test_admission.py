"""Estimates are kept: an answer from memory is the one that would be worked out anew, and no other fit's."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import engine
from app.domain.errors import Invalid, NotFound, TooLarge
from app.domain.records import Column, DatasetRecord
from app.service.fits.admission import Admission, Candidate
from app.service.fits.fits import Fits
from app.service.resources.memory import PROCESS_BYTES, MemoryConfig
from app.store.unit_of_work import Store

MOMENT = datetime(2026, 2, 3, tzinfo=UTC)
LIMIT = 1 << 20
GRAPH: dict[str, Any] = {
    "inputs": {"x": ["batch", 3], "y": ["batch"]},
    "parameters": {"w": [3], "b": []},
    "program": "loss = mse_loss(x @ w + b, y)",
}
WIDER = {**GRAPH, "parameters": {"v": [3, 5], "w": [5], "b": []}, "program": "loss = mse_loss(x @ v @ w + b, y)"}
RECIPE: dict[str, Any] = {"epochs": 4, "batch_size": 8, "optimizer": {"kind": "sgd", "lr": 0.1}}
SWEEP = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.2], "batch_size": [8, 4]}}


def column(name: str, *shape: int, dtype: str = "float32") -> Column:
    return Column(name, dtype, shape, "a" * 64, minimum=0.0, maximum=1.0, mean=0.5, missing=0)


def rows(count: int = 40, dtype: str = "float32") -> DatasetRecord:
    columns = (column("x", 3, dtype=dtype), column("y", dtype=dtype))
    return DatasetRecord("ds_1", "rows", "a" * 64, 10, count, columns, "csv", MOMENT)


def candidate(
    graph: Mapping[str, Any] = GRAPH,
    dataset: DatasetRecord | None = None,
    held_out: DatasetRecord | None = None,
    **recipe: Any,
) -> Candidate:
    definition = engine.parse_graph(graph)
    request = {"graph": "graph_1", "dataset": "ds_1", **RECIPE, **recipe}
    return Candidate(
        request, definition, definition.digest, (dataset or rows(),), () if held_out is None else (held_out,)
    )


DIFFERENT: dict[str, Candidate] = {
    "the first": candidate(),
    "another graph": candidate(WIDER),
    "more rows": candidate(dataset=rows(80)),
    "rows of another type": candidate(dataset=rows(dtype="float64")),
    "rows to validate on": candidate(held_out=rows(11)),
    "more rows to validate on": candidate(held_out=rows(19)),
    "a split": candidate(validation={"split": 0.25}),
    "larger batches": candidate(batch_size=20),
    "a shorter last batch": candidate(batch_size=7),
    "no shorter last batch": candidate(batch_size=7, drop_last=True),
    "more epochs": candidate(epochs=5),
    "steps": candidate(epochs=None, steps=5),
    "an optimizer that remembers": candidate(optimizer={"kind": "adam", "lr": 0.1}),
    "momentum": candidate(optimizer={"kind": "sgd", "lr": 0.1, "momentum": 0.9}),
    "no momentum": candidate(optimizer={"kind": "sgd", "lr": 0.1, "momentum": 0.0}),
    "another precision": candidate(precision="float64"),
    "parts of batches": candidate(micro_batch_size=3),
    "two processes": candidate(resources={"replicas": 2}),
    "an average": candidate(average={"kind": "ema", "decay": 0.9}),
    "metrics": candidate(metrics=["mae"]),
    "captured gradients": candidate(record={"gradients": {"every_steps": 2}}),
    "another executor": candidate(resources={"executor": "numpy"}),
}


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by each estimate that the engine works out."""
    created: list[str] = []

    def noted(name: str, check: Any) -> Any:
        def checking(*args: Any, **options: Any) -> Any:
            created.append(name)
            return check(*args, **options)

        return checking

    monkeypatch.setattr(engine, "check_fit", noted("fit", engine.check_fit))
    monkeypatch.setattr(engine.sweep, "check_sweep", noted("sweep", engine.sweep.check_sweep))
    return created


def test_a_kept_estimate_is_the_one_worked_out_again_and_no_other_fits(plans: list[str]) -> None:
    fresh = {what: Admission(LIMIT).fit(asked) for what, asked in DIFFERENT.items()}
    admission = Admission(LIMIT)
    for _ in range(2):
        assert {what: admission.fit(asked) for what, asked in DIFFERENT.items()} == fresh
    assert len({repr(estimate) for estimate in fresh.values()}) > len(fresh) / 2  # so that a mix-up would show
    assert len(plans) < 2 * len(DIFFERENT) + 1


def test_fits_that_differ_in_seed_labels_and_mere_factors_are_planned_once(plans: list[str]) -> None:
    admission = Admission(LIMIT)
    alike = [
        candidate(),
        candidate(seed=5),
        candidate(labels={"run": "2"}),
        candidate(optimizer={"kind": "sgd", "lr": 0.003}),
        candidate(start_paused=True),
    ]
    assert [admission.fit(asked) for asked in alike] == [Admission(LIMIT).fit(asked) for asked in alike]
    assert len(plans) == 1 + len(alike)


def test_a_repeated_sweep_is_planned_once_and_another_one_is_not_taken_for_it(plans: list[str]) -> None:
    admission = Admission(LIMIT)
    halving = {**SWEEP, "kind": "halving", "monitor": "loss"}
    asked = [candidate(sweep=SWEEP), candidate(sweep=halving), candidate(sweep=SWEEP, epochs=8)]
    fresh = [Admission(LIMIT).sweep(each) for each in asked]
    plans.clear()
    assert [admission.sweep(each) for each in asked * 2] == fresh * 2
    assert plans.count("sweep") == 3
    assert len({each.total_steps for each in fresh}) == 3


def test_a_fault_is_found_each_time_and_in_the_words_of_the_request_at_hand() -> None:
    admission = Admission(LIMIT)
    admission.fit(candidate())
    for _ in range(2):
        with pytest.raises(Invalid) as caught:
            admission.fit(candidate(feeds={"x": "z"}))
        assert [finding.pointer for finding in caught.value.findings] == ["/feeds/x"]
        with pytest.raises(Invalid) as caught:
            admission.fit(candidate(optimizer={"kind": "sgd", "lr": -0.1}))
        assert [finding.pointer for finding in caught.value.findings] == ["/optimizer/lr"]


def test_memory_cpus_and_captures_are_looked_at_for_a_kept_estimate_too(monkeypatch: pytest.MonkeyPatch) -> None:
    admission, capturing = Admission(200_000), candidate(record={"gradients": {"every_steps": 1}})
    admission.fit(capturing)
    with pytest.raises(Invalid, match="no CPU"):
        admission.fit(candidate(record={"gradients": {"every_steps": 1}}, resources={"affinity": [4095]}))
    monkeypatch.setattr("app.service.resources.memory.memory_budget", lambda: 1000)
    with pytest.raises(TooLarge, match="plan_bytes"):
        admission.fit(capturing)


@pytest.mark.parametrize("terms", [MemoryConfig(fit_bytes=1000), MemoryConfig(budget_bytes=1000)])
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_fit_beyond_what_one_may_take_is_refused_with_every_term_of_the_sum(
    terms: MemoryConfig, executor: str
) -> None:
    if executor not in engine.executors():
        pytest.skip("the native executor is not installed")
    asked = candidate(resources={"executor": executor, "replicas": 2})
    with pytest.raises(TooLarge, match="for each of 2 processes") as refused:
        Admission(LIMIT, terms).fit(asked)
    assert f"process_bytes {PROCESS_BYTES[executor]}" in refused.value.detail
    assert refused.value.extensions["limit"] == 1000
    Admission(LIMIT).fit(asked)


def test_only_as_many_estimates_are_kept_as_may_be(plans: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.service.fits.admission.ESTIMATES_KEPT", 2)
    admission = Admission(LIMIT)
    for epochs in (1, 2, 3, 3, 2, 1):
        admission.fit(candidate(epochs=epochs))
    assert len(plans) == 4


def test_a_graph_that_was_named_lately_and_is_deleted_is_not_found(
    fits: Fits, store: Store, request_: dict[str, Any]
) -> None:
    with store.begin() as work:
        graph = work.graphs.get(request_["graph"])
        other = replace(graph, id=graph.id[:-1] + ("0" if graph.id[-1] != "0" else "1"))
        work.graphs.add(other)
    fit_id = fits.submit({**request_, "graph": other.id, "start_paused": True}, lambda *_: None).fit.id
    with store.begin() as work:
        work.fits.delete(fit_id)
        work.graphs.delete(other.id)
        with pytest.raises(NotFound):
            work.graphs.get(other.id)
    with pytest.raises(Invalid) as caught:
        fits.submit({**request_, "graph": other.id}, lambda *_: None)
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == [("/graph", "not_found")]
