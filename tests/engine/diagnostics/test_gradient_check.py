"""Gradients of graphs against central differences: good ones, kinks, samples, random ops and limits."""

import numpy as np
import pytest

import engine
from engine.execution.interpreter import node_runner as bounds
from tests.support.rows import each_row

NETWORK = {
    "inputs": {"x": ["n", 3], "label": {"shape": ["n"], "dtype": "int64"}},
    "parameters": {
        "w": {"shape": [3, 4], "init": {"kind": "normal"}},
        "b": [4],
        "still": {"shape": [4], "frozen": True},
    },
    "program": "logits = tanh(x @ w) + b + still\nloss = cross_entropy(logits, label)",
    "outputs": ["logits"],
}
INPUTS = {"x": [[1, -2, 0.5], [0.1, 3, -1]], "label": [0, 3]}


def checked(document, **request):
    return engine.check_gradients(engine.parse_graph(document), request)


def test_the_gradients_of_a_network_pass_in_float64_although_it_is_declared_in_float32():
    result = checked(NETWORK, inputs=INPUTS, seed=3)
    assert result["ok"]
    assert result["of"] == ["loss"]
    assert (result["eps"], result["atol"], result["rtol"]) == (1e-6, 1e-5, 1e-3)
    assert list(result["gradients"]) == ["w", "b"]
    found = result["gradients"]["w"]
    assert (found["ok"], found["shape"], found["checked"], found["elements"]) == (True, [3, 4], 12, None)
    assert 0 < found["largest_absolute_error"] < 1e-8
    assert 0 < found["largest_relative_error"] < 1e-5


def test_inputs_and_frozen_parameters_are_checked_when_they_are_named():
    result = checked(NETWORK, inputs=INPUTS, by=["x", "still"])
    assert result["ok"]
    assert {name: found["shape"] for name, found in result["gradients"].items()} == {"x": [2, 3], "still": [4]}


def test_the_check_agrees_with_that_of_the_engine():
    definition = engine.parse_graph({"inputs": {"x": [3]}, "program": "y = exp(x) * sum(x)"})
    x = [0.5, -1.0, 2.0]
    found = engine.check_gradients(definition, {"inputs": {"x": x}, "of": "y", "by": ["x"]})["gradients"]["x"]
    assert found["ok"] == engine.gradcheck(lambda v: engine.ops.exp(v) * engine.ops.sum(v), [np.array(x)])
    weights = np.cos(np.arange(3.0))
    slope = weights * np.exp(x) * np.sum(x) + (weights * np.exp(x)).sum()
    place = found["worst"]["index"][0]
    np.testing.assert_allclose(found["worst"]["gradient"], slope[place], rtol=1e-12)
    np.testing.assert_allclose(found["worst"]["difference"], slope[place], rtol=1e-8)


def test_a_gradient_that_is_not_the_slope_fails_and_is_shown():
    document = {"inputs": {}, "parameters": {"w": [3]}, "program": "loss = sum(w ** 2 + relu(w))"}
    result = checked(document, parameters={"w": [1.0, 0.0, -1.0]})
    assert not result["ok"]
    found = result["gradients"]["w"]
    assert not found["ok"]
    assert found["worst"]["index"] == [1]
    assert found["worst"]["gradient"] == 0.0
    np.testing.assert_allclose(found["worst"]["difference"], 0.5, rtol=1e-4)
    np.testing.assert_allclose(found["largest_absolute_error"], 0.5, rtol=1e-4)
    assert found["largest_relative_error"] == 1.0
    assert checked(document, parameters={"w": [1.0, 0.0, -1.0]}, atol=0.6)["ok"]


def test_a_check_fails_where_numbers_are_not_finite():
    document = {"inputs": {}, "parameters": {"w": []}, "program": "loss = log(w)"}
    result = checked(document, parameters={"w": -1.0})
    assert not result["ok"]
    assert np.isnan(result["value"])
    assert np.isnan(result["gradients"]["w"]["largest_absolute_error"])


def test_of_a_large_parameter_a_sample_is_checked_that_the_seed_decides():
    document = {"inputs": {}, "parameters": {"w": [1000]}, "program": "loss = sum(w ** 2)"}
    samples = [checked(document, elements=20, seed=seed)["gradients"]["w"] for seed in (0, 0, 1)]
    assert [found["checked"] for found in samples] == [20, 20, 20]
    first, again, other = (found["elements"] for found in samples)
    assert first == again == sorted(set(first))
    assert 0 <= min(first) <= max(first) < 1000
    assert first != other
    assert checked(document)["gradients"]["w"]["checked"] == 100


def test_random_ops_draw_the_same_numbers_in_every_run():
    document = {
        "inputs": {"x": [6]},
        "parameters": {"w": [6]},
        "program": "loss = sum(dropout(x * w, p=0.5) ** 2)",
    }
    request = {"inputs": {"x": [1.0] * 6}, "parameters": {"w": [1.0] * 6}}
    result = checked(document, **request, training=True)
    assert result["ok"]
    losses = engine.compute(engine.parse_graph(document), {**request, "training": True, "want": []})["losses"]
    assert result["value"] == losses["loss"]
    assert checked(document, **request)["value"] == 6.0


def test_large_elements_are_moved_by_a_share_of_themselves():
    document = {"inputs": {}, "parameters": {"w": []}, "program": "loss = w * 3.0"}
    assert checked(document, parameters={"w": 1e12})["ok"]


def test_narrow_types_inside_a_graph_are_widened_too():
    document = {
        "inputs": {"x": {"shape": [2], "dtype": "float16"}},
        "parameters": {"w": [2]},
        "program": "loss = sum(cast(w, dtype='float32') * cast(x, dtype='float32') ** 3)",
    }
    result = checked(document, inputs={"x": [1.5, 2.5]}, by=["w", "x"])
    assert result["ok"]
    assert result["gradients"]["x"]["largest_absolute_error"] < 1e-7


FAULTS = {
    "an unknown field": ({"epsilon": 1}, "/epsilon", "unknown_field"),
    "a step of nothing": ({"eps": 0}, "/eps", "attribute_invalid"),
    "a tolerance below zero": ({"atol": -1.0}, "/atol", "attribute_invalid"),
    "a tolerance as text": ({"rtol": "small"}, "/rtol", "attribute_invalid"),
    "a tolerance that is no number": ({"rtol": float("nan")}, "/rtol", "attribute_invalid"),
    "no elements": ({"elements": 0}, "/elements", "attribute_invalid"),
    "too many elements": ({"elements": 10_001}, "/elements", "attribute_invalid"),
    "an unknown value": ({"of": "los"}, "/of", "unknown_name"),
    "a value that is a list": ({"of": ["loss"]}, "/of", "attribute_invalid"),
    "an unknown leaf": ({"by": ["w", "c"]}, "/by/1", "unknown_name"),
    "a leaf of integers": ({"by": ["label"]}, "/by/0", "dtype_mismatch"),
    "no leaf": ({"by": []}, "/by", "missing_field"),
    "a leaf as text": ({"by": "w"}, "/by", "type_mismatch"),
    "an input left out": ({"inputs": {"x": INPUTS["x"]}}, "/inputs", "missing_field"),
    "a parameter of another shape": ({"parameters": {"b": [1]}}, "/parameters/b", "shape_mismatch"),
    "a label out of range": ({"inputs": {**INPUTS, "label": [0, 4]}}, "/inputs", "attribute_invalid"),
}


@each_row(("more", "pointer", "code"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_request_is_refused_with_its_place(more, pointer, code):
    with pytest.raises(engine.DocumentError) as caught:
        checked(NETWORK, **{"inputs": INPUTS, **more})
    found = caught.value.findings[0]
    assert found.pointer == pointer
    assert len(caught.value.findings) == 1
    if pointer != "/inputs" or code == "missing_field":
        assert found.code == code


def test_a_graph_without_a_loss_or_a_parameter_says_what_to_name():
    with pytest.raises(engine.DocumentError) as caught:
        checked({"inputs": {"x": [2]}, "program": "y = x * 2.0"}, inputs={"x": [1, 2]})
    assert [found.code for found in caught.value.findings] == ["no_loss", "missing_field"]


def test_too_much_work_is_refused_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(bounds, "OPERATIONS", 400_000)
    with pytest.raises(engine.DocumentError, match="25 runs") as caught:
        checked(NETWORK, inputs=INPUTS, by=["w"])
    assert [(found.pointer, found.code) for found in caught.value.findings] == [("/elements", "limit_exceeded")]
    assert checked(NETWORK, inputs=INPUTS, by=["w"], elements=1)["ok"]
