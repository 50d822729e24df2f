"""Usual mistakes: each is refused with a pointer, a code, what is wrong, and what to change."""

from typing import Any

import httpx
import pytest

X = {"x": ["batch", 4]}
LINEAR = {"layer": "linear", "units": 3}
LOSS = {"kind": "cross_entropy", "target": "y"}
VECTOR = {"inputs": {"x": ["batch", 3]}, "parameters": {"w": [3]}}
DATA = {"columns": {"x": [[1, 2, 3, 4]] * 6, "y": [0, 1, 2, 0, 1, 2]}}

Request = tuple[str, str, Any]


def layers(*listed: Any, loss: Any = LOSS, dtype: str = "int64") -> Request:
    inputs = {**X, "y": {"shape": ["batch"], "dtype": dtype}}
    return "POST", "/v1/graphs", {"inputs": inputs, "layers": list(listed), "loss": loss}


def program(text: str, **changes: Any) -> Request:
    return "POST", "/v1/graphs", {**VECTOR, "program": text, **changes}


def nodes(*listed: Any) -> Request:
    return "POST", "/v1/graphs", {"inputs": {"x": ["batch", 3]}, "nodes": list(listed)}


def fit(**changes: Any) -> Request:
    body = {"graph": layers(LINEAR)[2], "dataset": DATA, "epochs": 1, **changes}
    return "POST", "/v1/fits", {name: value for name, value in body.items() if value is not None}


def columns(**changed: Any) -> Request:
    return fit(dataset={"columns": changed})


def get(path: str) -> Request:
    return "GET", path, None


MISTAKES: dict[str, tuple[Request, str, str, tuple[str, ...]]] = {
    "a layer of Keras": (
        layers({"layer": "dense", "units": 3}),
        "/layers/0/layer", "unknown_name", ("'dense'; did you mean 'linear'?",),
    ),
    "a layer of PyTorch": (
        layers(LINEAR, {"layer": "ReLU"}),
        "/layers/1/layer", "unknown_name", ("'ReLU'; did you mean 'relu'?",),
    ),
    "a layer misspelt": (
        layers({"layer": "linaer", "units": 3}),
        "/layers/0/layer", "unknown_name", ("'linaer'; did you mean 'linear'?",),
    ),
    "a choice of Keras": (
        layers({"layer": "parallel", "layers": [LINEAR], "join": "concatenate"}),
        "/layers/0/join", "attribute_invalid", ("not 'concatenate'; did you mean 'concat'?",),
    ),
    "a layer without kind": (layers({"units": 3}), "/layers/0", "missing_field", ("'layer' is required",)),
    "a layer without units": (
        layers({"layer": "linear"}),
        "/layers/0", "attribute_invalid", ("needs the attribute 'units' (an integer)",),
    ),
    "an option misspelt": (
        layers({"layer": "linear", "unit": 3}),
        "/layers/0/unit", "attribute_invalid", ("'unit'", "did you mean 'units'?"),
    ),
    "a number as text": (
        layers({"layer": "linear", "units": "3"}),
        "/layers/0/units", "attribute_invalid", ("must be an integer, not '3'",),
    ),
    "a share in per cent": (
        layers(LINEAR, {"layer": "dropout", "p": 30}),
        "/layers/1/p", "attribute_invalid", ("30", "less than 1"),
    ),
    "rows for an image layer": (
        layers({"layer": "conv2d", "channels": 3, "kernel": 3}),
        "/layers/0", "shape_mismatch", ("[batch, channels, 2 more]", "(tried with batch = 24)"),
    ),
    "class indices as fractions": (
        layers(LINEAR, dtype="float32"),
        "/loss", "shape_mismatch", ("cast them to int64", "(tried with batch = 24)"),
    ),
    "an element type of Python": (
        layers(LINEAR, dtype="int"),
        "/inputs/y/dtype", "dtype_mismatch", ("'int'", "did you mean 'int64'?"),
    ),
    "a target that is no input": (
        layers(LINEAR, loss={"kind": "cross_entropy", "target": "label"}),
        "/loss/target", "unknown_name", ("no input called 'label'", "one of y"),
    ),
    "a loss of Keras": (
        layers(LINEAR, loss={"kind": "sparse_categorical_crossentropy"}),
        "/loss/kind", "unknown_name", ("did you mean 'cross_entropy'?",),
    ),
    "a loss without kind": (layers(LINEAR, loss={"target": "y"}), "/loss", "missing_field", ("'kind' is required",)),
    "a name that is not declared": (
        program("f = x @ v"),
        "/program", "unknown_name", ("line 1: 'v' is not known; known are x, w",),
    ),
    "a function misspelt": (program("f = meen(x @ w)"), "/program", "unknown_name", ("'meen'; did you mean 'mean'?",)),
    "shapes that do not agree": (
        program("f = mean(x @ w)", parameters={"w": [4]}),
        "/program", "shape_mismatch", ("[24, 3] and [4]", "(tried with batch = 24)"),
    ),
    "an initializer of Keras": (
        program("f = mean(x @ w)", parameters={"w": {"shape": [3], "init": "he_uniform"}}),
        "/parameters/w/init", "unknown_name", ("'he_uniform'; did you mean 'kaiming_uniform'?",),
    ),
    "an op misspelt": (
        nodes({"name": "a", "op": "rellu", "inputs": ["x"]}),
        "/nodes/0/op", "unknown_name", ("'rellu'; did you mean 'relu'?",),
    ),
    "a node that comes later": (
        nodes({"name": "a", "op": "relu", "inputs": ["z"]}),
        "/nodes/0/inputs/0", "unknown_name", ("called 'z'",),
    ),
    "no inputs": (("POST", "/v1/graphs", {"layers": [LINEAR]}), "", "missing_field", ("'inputs' is required",)),
    "an optimizer misspelt": (fit(optimizer="adamm"), "/optimizer", "unknown_name", ("'adamm'; did you mean 'adam'?",)),
    "an optimizer without kind": (fit(optimizer={"lr": 0.1}), "/optimizer", "missing_field", ("'kind' is required",)),
    "an option of Keras": (
        fit(optimizer={"kind": "adam", "learning_rate": 0.1}),
        "/optimizer/learning_rate", "attribute_invalid", ("did you mean 'lr'?",),
    ),
    "a negative rate": (
        fit(optimizer={"kind": "adam", "lr": -1}),
        "/optimizer/lr", "attribute_invalid", ("at least 0, not -1",),
    ),
    "a schedule of PyTorch": (
        fit(schedule="CosineAnnealingLR"),
        "/schedule", "unknown_name", ("did you mean 'cosine'?",),
    ),
    "a schedule without its option": (
        fit(schedule="step"),
        "/schedule", "attribute_invalid", ("needs the option 'step_size' (an integer)",),
    ),
    "a metric of Keras": (
        fit(metrics=["acc"]),
        "/metrics/0/kind", "unknown_name", ("'acc'; did you mean 'accuracy'?",),
    ),
    "no epochs": (fit(epochs=0), "/epochs", "out_of_range", ("at least 1 and at most 1000000, not 0",)),
    "epochs and steps": (fit(steps=3), "/epochs", "attribute_invalid", ("exactly one of 'epochs' and 'steps'",)),
    "neither epochs nor steps": (
        fit(epochs=None),
        "/epochs", "attribute_invalid", ("exactly one of 'epochs' and 'steps'",),
    ),
    "a field misspelt": (fit(epoch=3), "/epoch", "unknown_field", ("did you mean 'epochs'?",)),
    "no dataset": (fit(dataset=None), "", "missing_field", ("'dataset' must be given",)),
    "a share above 1": (fit(validation={"split": 1.5}), "/validation/split", "out_of_range", ("less than 1, not 1.5",)),
    "a metric that is not recorded": (
        fit(early_stopping={"monitor": "val_los", "patience": 2}),
        "/early_stopping/monitor", "unknown_name", ("'val_los'", "there are loss"),
    ),
    "a class that the model lacks": (
        columns(x=[[1, 2, 3, 4]] * 3, y=[0, 1, 7]),
        "/dataset", "class_out_of_range", ("classes 0 to 7", "classes are 0 to 2"),
    ),
    "a column of another name": (
        columns(features=[[1, 2, 3, 4]] * 3, y=[0, 1, 1]),
        "/dataset", "unknown_column", ("needs a column 'x'", "columns are features, y"),
    ),
    "rows of another width": (
        columns(x=[[1, 2, 3]] * 3, y=[0, 1, 1]),
        "/dataset", "shape_mismatch", ("rows of shape [4], not [3] of column 'x'",),
    ),
    "an input misspelt": (fit(feeds={"X": "x"}), "/feeds/X", "unknown_name", ("called 'X'; did you mean 'x'?",)),
    "a normalisation by another name": (
        fit(normalize={"x": "zscore"}),
        "/normalize/x/kind", "unknown_name", ("did you mean 'standard'?",),
    ),
    "a pattern of nothing": (
        fit(freeze=[{"match": "conv*"}]),
        "/freeze/0/match", "unknown_name", ("parameters are linear_0.weight",),
    ),
    "columns of different lengths": (
        ("POST", "/v1/datasets", {"columns": {"x": [1, 2], "y": [1]}}),
        "/columns/y", "unequal_rows", ("1 rows and 'x' has 2; make them equal",),
    ),
    "a state that there is not": (
        get("/v1/fits?state=success"),
        "/state", "unknown_name", ("did you mean 'succeeded'?",),
    ),
    "a parameter misspelt": (get("/v1/fits?stat=failed"), "/stat", "unknown_parameter", ("did you mean 'state'?",)),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_with_its_place_its_cause_and_its_remedy(http: httpx.Client, mistake: str) -> None:
    (method, path, body), pointer, code, said = MISTAKES[mistake]
    answer = http.request(method, path, json=body)
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)
    assert [part for part in said if part not in error["detail"]] == [], error["detail"]
    assert answer.json()["detail"] == error["detail"]
