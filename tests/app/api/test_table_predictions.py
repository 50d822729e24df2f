"""Predictions and evaluations over stored datasets and uploaded tables."""

import io
from importlib import import_module
from typing import Any

import httpx
import numpy as np
import pytest

from tests.app.api.conftest import POINTS, RECIPE, created, refused
from tests.support.patience import LONGEST_WAIT

NAMES = ("no", "perhaps", "yes")
GRAPH = {
    "name": "answers",
    "inputs": {"x": ["batch", 2], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 3, "name": "out"}],
    "loss": {"kind": "cross_entropy", "target": "label"},
}
X = np.random.default_rng(0).normal(size=(600, 2)).astype(np.float32).round(3)
LABELS = [NAMES[int(a > 0) + int(b > 0.4)] for a, b in X.tolist()]
CSV = "id,a,b,label\n" + "".join(
    f"r{599 - row},{a},{b},{label}\n" for row, ((a, b), label) in enumerate(zip(X.tolist(), LABELS, strict=True))
)
COLUMNS = "id:class,x:float32[2]=a,b,label:class"


@pytest.fixture(scope="module")
def dataset(http: httpx.Client) -> dict[str, Any]:
    headers = {"Content-Type": "text/csv"}
    return created(http.post("/v1/datasets", params={"columns": COLUMNS}, content=CSV, headers=headers))


@pytest.fixture(scope="module")
def model(http: httpx.Client, dataset: dict[str, Any]) -> dict[str, Any]:
    """Return the latest checkpoint of a fit of three named classes, with the last metric row of its validation."""
    recipe = {"epochs": 20, "batch_size": 60, "optimizer": {"kind": "adam", "lr": 0.05}, "metrics": ["accuracy", "auc"]}
    recipe |= {"validation": {"dataset": dataset["id"]}, "resources": {"executor": "numpy"}}
    fit = created(http.post("/v1/fits", json={"graph": GRAPH, "dataset": dataset["id"], **recipe}))
    done = http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT}).json()
    assert done["state"] == "succeeded", done
    found: dict[str, Any] = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    rows = http.get(f"/v1/fits/{fit['id']}/metrics", params={"limit": 1000}).json()["data"]
    return {**found, "validation": [row["values"] for row in rows if row["split"] == "validation"][-1]}


def predicted(http: httpx.Client, model: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return the probabilities of all rows, as the route gives them for plain inputs."""
    answer = http.post(f"/v1/checkpoints/{model['id']}:predict", json={"inputs": {"x": X.tolist()}}).json()
    (logits,) = answer["outputs"].values()
    values = np.reshape(np.array(logits["data"], np.float64), logits["shape"])
    shares = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def read_table(kind: str, content: bytes) -> dict[str, list[Any]]:
    """Return the columns of a response as lists."""
    if kind == "parquet":
        return dict(import_module("pyarrow.parquet").read_table(io.BytesIO(content)).to_pydict())
    lines = [line.split(",") for line in content.decode().splitlines()]
    return {name: [line[place] for line in lines[1:]] for place, name in enumerate(lines[0])}


def test_rows_of_a_dataset_and_of_a_table_are_predicted_alike(
    http: httpx.Client, dataset: dict[str, Any], model: dict[str, Any]
) -> None:
    here, shares = f"/v1/checkpoints/{model['id']}:predict", predicted(http, model)
    wanted = {"id_column": "id", "probabilities": True, "top_k": 2}
    stored = http.post(here, params={"format": "parquet"}, json={"dataset": dataset["id"], **wanted})
    sent = http.post(
        here,
        params={"columns": COLUMNS, "id_column": "id", "probabilities": "true", "top_k": 2},
        content=CSV,
        headers={"Content-Type": "text/csv"},
    )
    assert (stored.headers["content-type"], sent.headers["content-type"].partition(";")[0]) == (
        "application/vnd.apache.parquet",
        "text/csv",
    )
    parquet, csv = read_table("parquet", stored.content), read_table("csv", sent.content)
    assert list(parquet) == list(csv)
    assert parquet["id"] == csv["id"] == [f"r{599 - row}" for row in range(600)]
    (output,) = {name.partition(".")[0] for name in csv} - {"id"}
    assert csv[f"{output}.class"] == [NAMES[k] for k in shares.argmax(axis=1)] == parquet[f"{output}.class"]
    for place, name in enumerate(NAMES):
        for table in (parquet, csv):
            found = np.array(table[f"{output}.probabilities.{name}"], np.float64)
            np.testing.assert_allclose(found, shares[:, place], atol=2e-6)
    assert csv[f"{output}.top_classes.0"] == csv[f"{output}.class"]
    np.testing.assert_allclose(np.array(csv[f"{output}.probability"], float), shares.max(axis=1), atol=2e-6)
    part = http.post(here, params={"format": "npz"}, json={"dataset": dataset["id"], "start": 590, "raw": True})
    arrays = np.load(io.BytesIO(part.content))
    assert arrays["row"].tolist() == list(range(590, 600))
    assert (arrays[output].shape, arrays[f"{output}.class"].tolist()) == ((10, 3), csv[f"{output}.class"][590:])
    document = http.post(here, json={"dataset": {"columns": {"x": X[:2].tolist()}}}).json()
    assert (document["object"], document["rows"], [row["row"] for row in document["data"]]) == (
        "predictions",
        2,
        [0, 1],
    )
    lines = http.post(here, params={"format": "ndjson"}, json={"dataset": dataset["id"], "stop": 3}).text.splitlines()
    assert len(lines) == 3


def test_numbers_are_predicted_and_evaluated_in_the_units_of_the_target(http: httpx.Client) -> None:
    target = [1e6 + 4000 * value for value in POINTS["columns"]["y"]]
    columns = {"x": POINTS["columns"]["x"], "y": target}
    graph = {
        "inputs": {"x": ["batch", 2], "y": ["batch"]},
        "parameters": {"w": [2], "c": []},
        "program": "pred = x @ w + c\nloss = mean((pred - y) ** 2)",
        "outputs": ["pred"],
    }
    body = {"graph": graph, "dataset": {"columns": columns}, **RECIPE, "normalize": {"y": "standard"}, "epochs": 60}
    fit = created(http.post("/v1/fits", json=body))
    http.get(f"/v1/fits/{fit['id']}", params={"wait": LONGEST_WAIT})
    latest = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    here = f"/v1/checkpoints/{latest['id']}"
    rows = http.post(f"{here}:predict", json={"dataset": {"columns": columns}}).json()["data"]
    errors = np.array([row["pred"] for row in rows]) - target
    found = http.post(f"{here}:evaluate", json={"dataset": {"columns": columns}}).json()
    assert found["classification"] is None
    assert found["regression"]["mean_absolute_error"] == pytest.approx(np.abs(errors).mean(), rel=1e-5)
    assert found["regression"]["root_mean_squared_error"] == pytest.approx(found["metrics"]["rmse"])
    assert found["metrics"]["loss"] == pytest.approx((errors**2).mean(), rel=1e-4)
    assert found["metrics"]["r2"] > 0.5


def test_an_evaluation_is_that_of_the_fit_with_a_report_on_its_classes(
    http: httpx.Client, dataset: dict[str, Any], model: dict[str, Any]
) -> None:
    shares, target = predicted(http, model), np.array([NAMES.index(label) for label in LABELS])
    guess = shares.argmax(axis=1)
    here = f"/v1/checkpoints/{model['id']}:evaluate"
    found = http.post(here, json={"dataset": dataset["id"], "bins": 5, "points": 20}).json()
    assert found["metrics"] == pytest.approx(model["validation"])
    sent = http.post(here, params={"columns": COLUMNS}, content=CSV, headers={"Content-Type": "text/csv"}).json()
    assert sent["metrics"] == found["metrics"]
    report = found["classification"]
    matrix = [[int(((target == i) & (guess == j)).sum()) for j in range(3)] for i in range(3)]
    assert (report["classes"], report["confusion_matrix"]) == (list(NAMES), matrix)
    second = report["per_class"][1]
    assert (second["name"], second["support"], second["predicted"]) == (
        "perhaps",
        sum(matrix[1]),
        sum(row[1] for row in matrix),
    )
    assert second["precision"] == matrix[1][1] / second["predicted"]
    of_class = np.eye(3)[target]
    assert report["calibration"]["brier"] == pytest.approx(((shares - of_class) ** 2).sum(axis=1).mean(), rel=1e-4)
    assert sum(each["rows"] for each in report["calibration"]["bins"]) == 600
    for k, curve in enumerate(report["roc"]):
        pairs = shares[target == k, k][:, None] - shares[target != k, k][None]
        assert curve["auc"] == pytest.approx((pairs > 0).mean() + (pairs == 0).mean() / 2, abs=1e-6)
        assert len(curve["points"]) <= 21
        assert (curve["points"][-1]["true_positive_rate"], curve["points"][-1]["false_positive_rate"]) == (1, 1)


REFUSED: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "no dataset": ({"dataset": "ds_00000000000000000000000000"}, ("/dataset", "not_found")),
    "neither": ({}, ("", "missing_field")),
    "both": ({"dataset": "HERE", "inputs": {}}, ("", "missing_field")),
    "options of a dataset": ({"inputs": {"x": [[1, 2]]}, "top_k": 2}, ("", "conflict")),
    "unknown id": ({"dataset": "HERE", "id_column": "ids"}, ("/id_column", "unknown_column")),
    "unknown input": ({"dataset": "HERE", "feeds": {"z": "x"}}, ("/feeds/z", "unknown_name")),
    "missing column": ({"dataset": "HERE", "feeds": {"x": "xx"}}, ("/dataset", "unknown_column")),
    "other shape": ({"dataset": "HERE", "feeds": {"x": "label"}}, ("/dataset", "shape_mismatch")),
    "beyond": ({"dataset": "HERE", "start": 600}, ("/rows", "out_of_range")),
    "a table of no rows": ({"dataset": {"columns": {"x": []}}}, ("/dataset/columns/x", "no_rows")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_predicted_is_refused(
    http: httpx.Client, dataset: dict[str, Any], model: dict[str, Any], case: str
) -> None:
    body, wanted = REFUSED[case]
    sent = {name: dataset["id"] if value == "HERE" else value for name, value in body.items()}
    assert refused(http.post(f"/v1/checkpoints/{model['id']}:predict", json=sent)) == [wanted]


def test_a_table_is_checked_against_the_model(http: httpx.Client, model: dict[str, Any]) -> None:
    here, headers = f"/v1/checkpoints/{model['id']}", {"Content-Type": "text/csv"}
    answer = http.post(f"{here}:predict", content="a,b\n1,2\n", headers=headers)
    assert refused(answer) == [("", "unknown_column")]
    assert "columns=x:float32[2]=a..b" in answer.json()["detail"]
    unknown = CSV.replace("perhaps\n", "never\n", 1)
    answer = http.post(f"{here}:evaluate", params={"columns": COLUMNS}, content=unknown, headers=headers)
    assert refused(answer) == [("", "unknown_class")]
    # What is not needed for predictions is not checked.
    answer = http.post(f"{here}:predict", params={"columns": COLUMNS}, content=unknown, headers=headers)
    assert answer.status_code == 200
