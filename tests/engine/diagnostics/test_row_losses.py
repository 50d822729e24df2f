"""Losses row by row: against those by hand, their mean or sum against the loss of the batch, rows that spike."""

import numpy as np
import pytest

import engine
from engine.execution.interpreter import node_runner as bounds
from tests.support.rows import each_row

DRAW = np.random.default_rng(2)
X, Y = DRAW.standard_normal((6, 3)), DRAW.standard_normal(6)
W = DRAW.standard_normal(3)
LINE = {
    "inputs": {"x": {"shape": ["n", 3], "dtype": "float64"}, "y": {"shape": ["n"], "dtype": "float64"}},
    "parameters": {"w": {"shape": [3], "dtype": "float64"}},
}
AT = {"inputs": {"x": X.tolist(), "y": Y.tolist()}, "parameters": {"w": W.tolist()}}
SQUARES = (X @ W - Y) ** 2


def losses(document, request):
    return engine.row_losses(engine.parse_graph(document), request)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_rows_have_the_losses_that_the_loss_of_the_batch_is_made_of(reduction):
    document = {**LINE, "program": f"loss = {reduction}((x @ w - y) ** 2)"}
    found = losses(document, AT).losses
    np.testing.assert_allclose(found, SQUARES, rtol=1e-12)
    whole = engine.compute(engine.parse_graph(document), AT)["losses"]["loss"]
    np.testing.assert_allclose(getattr(found, reduction)(), whole, rtol=1e-12)


def test_several_losses_are_added_and_rows_are_looked_at_in_evaluation_mode():
    document = {
        "inputs": {"x": ["n", 3], "label": {"shape": ["n"], "dtype": "int64"}},
        "layers": ["batch_norm", {"layer": "dropout", "p": 0.5}, {"layer": "linear", "units": 2}],
        "loss": "cross_entropy",
    }
    definition = engine.parse_graph(document)
    request = {"inputs": {"x": X.tolist(), "label": [0, 1, 0, 1, 0, 1]}, "seed": 4}
    found = engine.row_losses(definition, request).losses
    np.testing.assert_allclose(found.mean(), engine.compute(definition, request)["losses"]["loss"], rtol=1e-6)
    two = {**LINE, "program": "a = sum((x @ w - y) ** 2)\nb = sum(x) * 0.0 + 1.0", "losses": ["a", "b"]}
    np.testing.assert_allclose(losses(two, AT).losses, SQUARES + 1, rtol=1e-12)


def test_the_rows_that_spike_are_named_worst_first():
    inputs = {"x": X.tolist(), "y": [*Y[:2].tolist(), 1e3, 0.5, 1e200, 1e250]}
    document = {**LINE, "program": "loss = mean((x @ w - y) ** 2)"}
    found = losses(document, {**AT, "inputs": inputs, "top": 3})
    assert list(found.top) == [4, 5, 2]
    assert np.isinf(found.losses[[4, 5]]).all()
    assert losses(document, {**AT, "top": 0}).top == []
    assert sorted(losses(document, AT).top) == [0, 1, 2, 3, 4, 5]
    assert engine.RowLosses.of(np.array([1.0, np.nan, 5.0]), 2).top == [1, 2]


def test_inputs_that_have_no_rows_serve_all_of_them():
    document = {"inputs": {"x": ["n"], "scale": []}, "program": "loss = mean(x) * scale"}
    found = losses(document, {"inputs": {"x": [1.0, 2.0], "scale": 3.0}})
    assert found.losses.tolist() == [3.0, 6.0]


def test_of_no_rows_there_are_no_losses():
    document = {"inputs": {"x": ["n"]}, "program": "loss = sum(x)"}
    assert losses(document, {"inputs": {"x": {"dtype": "float32", "shape": [0], "data": []}}}).losses.tolist() == []


REFUSED = {
    "no loss": ({"inputs": {"x": ["n"]}, "program": "y = exp(x)"}, {}, "", "no_loss"),
    "no rows": ({"inputs": {"x": [2]}, "program": "loss = sum(x)"}, {}, "/inputs", "shape_mismatch"),
    "no single row": (
        {"inputs": {"x": ["n"], "y": [3, "n"]}, "program": "loss = sum(x * y)"},
        {},
        "/inputs/y",
        "shape_mismatch",
    ),
    "a negative count": ({"inputs": {"x": ["n"]}, "program": "loss = sum(x)"}, {"top": -1}, "/top", "out_of_range"),
    "a mode": ({"inputs": {"x": ["n"]}, "program": "loss = sum(x)"}, {"training": True}, "/training", "unknown_field"),
}


@each_row(("document", "more", "pointer", "code"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_losses_by_row_is_refused(document, more, pointer, code):
    inputs = {"x": [1.0, 2.0], **({"y": [[1.0, 2.0]] * 3} if "y" in document["inputs"] else {})}
    with pytest.raises(engine.DocumentError) as caught:
        losses(document, {"inputs": inputs, **more})
    assert [(found.pointer, found.code) for found in caught.value.findings] == [(pointer, code)]


def test_an_index_out_of_range_in_a_row_is_a_fault_of_the_inputs():
    document = {
        "inputs": {"i": {"shape": ["n"], "dtype": "int64"}},
        "parameters": {"t": [3]},
        "program": "loss = sum(take(t, i))",
    }
    with pytest.raises(engine.DocumentError, match="index 9") as caught:
        losses(document, {"inputs": {"i": [0, 9]}})
    assert caught.value.findings[0].pointer == "/inputs"


def test_too_many_rows_are_refused_before_any_is_computed(monkeypatch):
    monkeypatch.setattr(bounds, "OPERATIONS", 50_000)
    with pytest.raises(engine.DocumentError, match="send fewer rows") as caught:
        losses({"inputs": {"x": ["n"]}, "program": "loss = sum(x)"}, {"inputs": {"x": [1.0] * 50}})
    assert caught.value.findings[0].pointer == "/inputs"
