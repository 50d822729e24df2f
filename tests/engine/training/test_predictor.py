"""Predictions of a trained model: the same in chunks and whole, and only of what the outputs need."""

import numpy as np
import pytest

import engine
from tests.support.rows import each_row

RNG = np.random.default_rng(2)
X = RNG.standard_normal((23, 4)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(np.int64)
CLASSIFIER = {
    "inputs": {"x": ["batch", 4], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "linear", "units": 5, "activation": "tanh"},
        "batch_norm",
        {"layer": "dropout"},
        {"layer": "linear", "units": 2},
    ],
    "loss": "cross_entropy",
}


def predictor(document, **recipe):
    """Train for a moment, and load the snapshot."""
    definition = engine.parse_graph(document)
    columns = {"x": X, "label": LABELS}
    fit = engine.Fit(definition, engine.read_recipe({"steps": 3, "batch_size": 8, **recipe}), columns)
    list(fit)
    return engine.Predictor(definition, fit.snapshot(), fit.recipe.precision)


def initial(document):
    """Load a model as it starts."""
    definition = engine.parse_graph(document)
    parameters = {n: np.full(s.shape, 0.5, s.dtype) for n, s in definition.parameters.items()}
    return engine.Predictor(definition, engine.Checkpoint(parameters))


@pytest.mark.parametrize("chunk", [1, 5, 22, 23, 24, 1000])
def test_chunks_give_what_the_whole_gives(chunk):
    model = predictor(CLASSIFIER)
    whole = model.predict({"x": X}, chunk=10**6)
    parts = model.predict({"x": X}, chunk=chunk)
    assert list(parts) == list(whole) == ["linear_1"]
    assert parts["linear_1"].shape == (23, 2)
    np.testing.assert_allclose(parts["linear_1"], whole["linear_1"], rtol=1e-5, atol=1e-6)


def test_a_prediction_is_in_evaluation_mode_and_does_not_change_the_model():
    model = predictor(CLASSIFIER)
    first, second = model.predict({"x": X}), model.predict({"x": X})
    np.testing.assert_array_equal(first["linear_1"], second["linear_1"])
    row = model.predict({"x": X[4:5]})["linear_1"]
    np.testing.assert_allclose(row[0], first["linear_1"][4], rtol=1e-5, atol=1e-6)


def test_no_rows_give_no_predictions():
    assert predictor(CLASSIFIER).predict({"x": X[:0]})["linear_1"].shape == (0, 2)


def test_predictions_in_float64():
    result = predictor(CLASSIFIER, precision="float64").predict({"x": X.astype(np.float64)})
    assert result["linear_1"].dtype == np.float64


def test_outputs_are_those_declared_without_the_losses():
    document = {
        "inputs": {"x": ["n", 4], "label": {"shape": ["n"], "dtype": "int64"}},
        "parameters": {"w": [4, 2]},
        "program": "logits = x @ w\nloss = cross_entropy(logits, label)\nclass_of = argmax(logits, axis=1)",
        "outputs": ["class_of", "logits", "loss"],
    }
    result = initial(document).predict({"x": X})
    assert list(result) == ["class_of", "logits"]
    np.testing.assert_array_equal(result["class_of"], result["logits"].argmax(1))


def test_outputs_over_all_rows_are_not_cut_into_chunks():
    document = {
        "inputs": {"x": ["n", 4]},
        "parameters": {"w": [4]},
        "program": "p = x @ w\ntotal = sum(p)\nlargest = max(p)\nsquare = x @ x.T\ndoubled = concat(p, p, axis=0)",
        "outputs": ["p", "total", "largest", "square", "doubled"],
    }
    model = initial(document)
    whole, parts = model.predict({"x": X}), model.predict({"x": X}, chunk=5)
    for name in document["outputs"]:
        np.testing.assert_array_equal(whole[name], parts[name])
    assert parts["square"].shape == (23, 23)
    assert parts["doubled"].shape == (46,)


def test_inputs_of_another_extent_are_not_cut_with_the_rows():
    document = {
        "inputs": {"x": ["n", 4], "table": ["m", 4]},
        "parameters": {"w": [4]},
        "program": "p = (x * w) @ table.T",
    }
    model = initial(document)
    whole, parts = model.predict({"x": X, "table": X[:9]}), model.predict({"x": X, "table": X[:9]}, chunk=4)
    np.testing.assert_allclose(whole["p"], (X * 0.5) @ X[:9].T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(parts["p"], whole["p"], rtol=1e-6)


FAULTS = {
    "a missing input": ({}, [("/inputs", "missing_field")]),
    "a faulty input the outputs do not need": ({"x": X, "label": LABELS[:5]}, [("/inputs/label", "shape_mismatch")]),
    "an unknown input": ({"y": X}, [("/inputs/y", "unknown_name"), ("/inputs", "missing_field")]),
    "another width": ({"x": X[:, :3]}, [("/inputs/x", "shape_mismatch")]),
    "another rank": ({"x": X[0]}, [("/inputs/x", "shape_mismatch")]),
}


@pytest.mark.parametrize(("inputs", "expected"), FAULTS.values(), ids=FAULTS)
def test_faulty_inputs_are_refused_with_pointers(inputs, expected):
    model = predictor(CLASSIFIER)
    with pytest.raises(engine.DocumentError) as caught:
        model.predict(inputs)
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == expected


@each_row("numbers", [[0.5], [300.0], [-1.0], [2.0**63]])
def test_numbers_that_an_integer_input_does_not_hold_are_refused(numbers):
    document = {"inputs": {"i": {"shape": ["n"], "dtype": "uint8"}}, "parameters": {"w": []}, "program": "y = i * w"}
    model = initial(document)
    assert model.predict({"i": np.array([255.0, 0.0])})["y"].tolist() == [127.5, 0.0]
    with pytest.raises(engine.DocumentError) as caught:
        model.predict({"i": np.array(numbers)})
    assert caught.value.findings[0].code == "dtype_mismatch"


def test_a_checkpoint_of_another_model_is_refused():
    definition = engine.parse_graph(CLASSIFIER)
    for parameters in ({}, {"linear_0.weight": np.ones((2, 2))}):
        with pytest.raises(engine.CheckpointError):
            engine.Predictor(definition, engine.Checkpoint(parameters))
