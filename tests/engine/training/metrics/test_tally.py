"""Tallies: batches in, numbers of all their rows out; their state can be saved and restored."""

from __future__ import annotations

import numpy as np
import pytest

from engine.core.value import Array, tensor
from engine.training.metrics.operands import Operands
from engine.training.metrics.scores import Accuracy, Auc
from engine.training.metrics.table import METRICS
from engine.training.metrics.tally import Tally


def outputs(metrics: list, predictions: Array, targets: Array, form: str) -> dict[str, Array]:
    operands = Operands(tensor(predictions), tensor(targets), form)
    return {
        f"metric:{metric.row_name}:{part}": value.numpy()
        for metric in metrics
        for part, value in metric.statistics(operands).items()
    }


def batches(form: str) -> list[tuple[Array, Array]]:
    generator = np.random.default_rng(3)
    sizes = (4, 1, 7, 2)
    if form == "numbers":
        return [(generator.normal(size=(rows, 2)), generator.normal(size=(rows, 2))) for rows in sizes]
    return [(generator.normal(size=(rows, 3)), generator.integers(0, 3, rows)) for rows in sizes]


def kinds(form: str) -> list:
    return [METRICS[kind]() for kind in METRICS if form in METRICS[kind].takes and kind != "top_k_accuracy"]


@pytest.mark.parametrize("form", ["class_logits", "numbers"])
def test_a_tally_goes_on_to_the_bit_from_what_another_knew(form):
    metrics = kinds(form)
    whole, first, second = Tally(metrics), Tally(metrics), Tally(metrics)
    created = [outputs(metrics, *batch, form) for batch in batches(form)]
    for batch in created:
        whole.add(batch)
    for batch in created[:2]:
        first.add(batch)
    second.add({name: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape) for name, a in first.state().items()})
    for batch in created[2:]:
        second.add(batch)
    assert second.result() == whole.result()


def test_a_tally_without_batches_reports_nothing():
    tally = Tally([Accuracy(), Auc()])
    assert tally.result() == {}
    assert tally.state() == {}


def test_a_cleared_tally_forgets():
    metrics = kinds("class_logits")
    tally, fresh = Tally(metrics), Tally(metrics)
    first, second, *_ = (outputs(metrics, *batch, "class_logits") for batch in batches("class_logits"))
    tally.add(first)
    tally.clear()
    assert tally.result() == {}
    tally.add(second)
    fresh.add(second)
    assert repr(tally.result()) == repr(fresh.result())


def test_numbers_come_in_the_order_of_the_metrics():
    metrics = [Auc(name="second"), Accuracy(name="first")]
    tally = Tally(metrics)
    tally.add(outputs(metrics, *batches("class_logits")[0], "class_logits"))
    assert list(tally.result()) == ["second", "first"]


def test_other_outputs_of_a_plan_are_left_alone():
    metrics = [Accuracy()]
    tally = Tally(metrics)
    tally.add({"loss": np.zeros(()), **outputs(metrics, *batches("class_logits")[0], "class_logits")})
    assert list(tally.result()) == ["accuracy"]


@pytest.mark.parametrize("form", ["class_logits", "numbers"])
def test_what_is_added_may_be_overwritten(form):
    metrics = kinds(form)
    tally, kept = Tally(metrics), Tally(metrics)
    for batch in batches(form):
        created = outputs(metrics, *batch, form)
        kept.add({name: array.copy() for name, array in created.items()})
        tally.add(created)
        for array in created.values():
            array[...] = 0
    assert tally.result() == kept.result()


def test_a_batch_without_rows_changes_nothing():
    metrics = [METRICS[kind]() for kind in ("mae", "rmse", "r2")]
    tally, wanted = Tally(metrics), Tally(metrics)
    empty = outputs(metrics, np.zeros((0, 2)), np.zeros((0, 2)), "numbers")
    tally.add(empty)
    for batch in batches("numbers"):
        created = outputs(metrics, *batch, "numbers")
        tally.add(created)
        tally.add(empty)
        wanted.add(created)
    assert tally.result() == wanted.result()
