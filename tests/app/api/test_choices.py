"""Over HTTP an unknown name of a choice is answered with its place, the nearest name and those that are accepted."""

from typing import Any

import httpx
import pytest

LAYERS: dict[str, Any] = {"inputs": {"x": ["n", 2], "y": ["n", 1]}, "layers": [{"layer": "linear", "units": 1}]}
PROGRAM: dict[str, Any] = {
    "inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((x * w) ** 2)"
}  # fmt: skip
FIT: dict[str, Any] = {"graph": PROGRAM, "dataset": {"columns": {"x": [1.0, 2.0]}}, "steps": 1}

# The route, the body, where its fault is, and the name that is meant.
WRONG: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "loss": ("graphs", {**LAYERS, "loss": "msee_loss"}, "/loss/kind", "mse_loss"),
    "ggml's loss": ("graphs", {**LAYERS, "loss": "GGML_OPT_LOSS_TYPE_CROSS_ENTROPY"}, "/loss/kind", "ggml_cross"),
    "layer": ("graphs", {**LAYERS, "layers": ["linea"]}, "/layers/0/layer", "linear"),
    "op": ("graphs", {**PROGRAM, "program": "loss = meen(x * w)"}, "/program", "mean"),
    "init": ("graphs", {**PROGRAM, "parameters": {"w": {"shape": [], "init": "onse"}}}, "/parameters/w/init", "ones"),
    "optimizer": ("fits", {**FIT, "optimizer": {"kind": "adamm"}}, "/optimizer", "adam"),
    "schedule": ("fits", {**FIT, "schedule": {"kind": "cosin"}}, "/schedule", "cosine"),
    "metric": ("fits", {**FIT, "metrics": ["acuracy"]}, "/metrics/0/kind", "accuracy"),
    "precision": ("fits", {**FIT, "precision": "float23"}, "/precision", "float32"),
    "executor": ("fits", {**FIT, "resources": {"executor": "nativ"}}, "/resources/executor", "native"),
}


@pytest.mark.parametrize(("route", "body", "pointer", "right"), WRONG.values(), ids=WRONG)
def test_an_unknown_name_is_answered_with_the_nearest_and_the_others(
    http: httpx.Client, route: str, body: dict[str, Any], pointer: str, right: str
) -> None:
    answer = http.post(f"/v1/{route}", json=body)
    assert answer.status_code == 422, answer.text
    (fault,) = answer.json()["errors"]
    assert fault["pointer"] == pointer
    assert f"did you mean '{right}" in fault["detail"]
    assert any(word in fault["detail"] for word in ("accepted are", "lists all", "should be", "must be one of"))
