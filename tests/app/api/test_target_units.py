"""A normalised target over HTTP: what is reported is in the units of the data."""

from typing import Any

import httpx
import pytest

from tests.support.patience import LONGEST_WAIT

from .conftest import LINE, created

X = [[i / 8, -i / 16] for i in range(16)]
Y = [1000.0 + 40.0 * i + (-1) ** i for i in range(16)]


SWEEP = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.2]}}
OPTIONS: dict[str, dict[str, Any]] = {
    "fit": {},
    "sweep": {"sweep": SWEEP},
    "replicas": {"resources": {"executor": "numpy", "threads": 1, "replicas": 2}},
    "micro-batches": {"micro_batch_size": 5},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_predictions_and_losses_are_in_the_units_of_the_data(http: httpx.Client, options: dict[str, Any]) -> None:
    dataset = created(http.post("/v1/datasets", json={"columns": {"x": X, "y": Y}}))["id"]
    request = {
        "graph": LINE,
        "dataset": dataset,
        "validation": {"dataset": dataset},
        "epochs": 60,
        "batch_size": 16,
        "optimizer": {"kind": "adam", "lr": 0.2},
        "normalize": {"x": "standard", "y": "standard"},
        "early_stopping": {"monitor": "val_loss", "patience": 50, "restore_best": False},
        "resources": {"executor": "numpy", "threads": 1},
    }
    begun = created(http.post("/v1/fits", json={**request, **options}))
    fit = http.get(f"/v1/fits/{begun['id']}", params={"wait": LONGEST_WAIT}).json()
    assert fit["state"] == "succeeded", fit["error"]
    if "sweep" in options:
        fit = http.get("/v1/fits", params={"parent": fit["id"]}).json()["data"][0]
    assert fit["best"]["metric"] == "val_loss"
    checkpoint = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()["id"]
    answer = http.post(f"/v1/checkpoints/{checkpoint}:predict", json={"inputs": {"x": X}}).json()["outputs"]["pred"]
    errors = [(predicted - true) ** 2 for predicted, true in zip(answer["data"], Y, strict=True)]
    assert answer["dtype"] == "float64"
    assert fit["latest"]["val_loss"] == pytest.approx(sum(errors) / len(errors), rel=1e-3)
    variance = sum((y - sum(Y) / 16) ** 2 for y in Y) / 16
    assert fit["latest"]["val_normalized_loss"] == pytest.approx(fit["latest"]["val_loss"] / variance, rel=1e-3)
