"""Fits on several datasets, whose rows are joined in their order."""

from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.support.patience import LONGEST_WAIT

from .conftest import created

GRAPH = {
    "inputs": {"x": ["batch", 2], "y": ["batch"]},
    "parameters": {"w": [2], "c": []},
    "program": "pred = x @ w + c\nloss = mean((pred - y) ** 2)",
    "outputs": ["pred"],
}
RECIPE = {"epochs": 3, "batch_size": 5, "seed": 4, "optimizer": {"kind": "sgd", "lr": 0.01}, "shuffle": True}
X = [[i / 8, -i / 16] for i in range(16)]
Y = [i / 4 for i in range(16)]
CUTS = (0, 3, 4, 16)


@pytest.fixture(scope="module")
def whole(http: httpx.Client) -> str:
    return str(created(http.post("/v1/datasets", json={"columns": {"x": X, "y": Y}}))["id"])


@pytest.fixture(scope="module")
def shards(http: httpx.Client) -> list[str]:
    parts = [slice(*cut) for cut in pairwise(CUTS)]
    documents = [{"columns": {"x": X[part], "y": Y[part]}} for part in parts]
    return [str(created(http.post("/v1/datasets", json=document))["id"]) for document in documents]


def fitted(http: httpx.Client, **request: Any) -> dict[str, Any]:
    begun = created(http.post("/v1/fits", json={"graph": GRAPH, **RECIPE, **request}))
    fit: dict[str, Any] = http.get(f"/v1/fits/{begun['id']}", params={"wait": LONGEST_WAIT}).json()
    assert fit["state"] == "succeeded", fit["error"]
    return fit


def rows(http: httpx.Client, fit: dict[str, Any]) -> Any:
    return http.get(f"/v1/fits/{fit['id']}/metrics").json()["data"]


def test_shards_train_as_the_whole_does(http: httpx.Client, whole: str, shards: list[str]) -> None:
    options = {"validation": {"split": 0.25}, "normalize": {"x": "standard"}}
    one, several = fitted(http, dataset=whole, **options), fitted(http, dataset=shards, **options)
    assert rows(http, one) == rows(http, several)
    assert (one["dataset"], one["datasets"]) == (whole, [whole])
    assert (several["dataset"], several["datasets"]) == (shards[0], shards)
    assert several["request"]["dataset"] == shards
    assert several["links"]["dataset"] == f"/v1/datasets/{shards[0]}"


def test_shards_are_validated_on_as_the_whole_is(http: httpx.Client, whole: str, shards: list[str]) -> None:
    one = fitted(http, dataset=whole, validation={"dataset": whole})
    several = fitted(http, dataset=[whole], validation={"dataset": shards})
    assert rows(http, one) == rows(http, several)


def test_a_dataset_may_come_twice(http: httpx.Client, shards: list[str]) -> None:
    assert fitted(http, dataset=[shards[0], shards[0]], batch_size=6)["total_steps"] == 3


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"x": X, "z": Y}, "has a column 'y'"),
        ({"x": Y, "y": Y}, "column 'x' holds"),
        ({"x": X, "y": list(range(16))}, "column 'y' holds"),
    ],
)
@pytest.mark.parametrize("place", ["dataset", "validation"])
def test_other_columns_are_refused_at_their_dataset(
    http: httpx.Client, whole: str, columns: dict[str, Any], says: str, place: str
) -> None:
    other = created(http.post("/v1/datasets", json={"columns": columns}))["id"]
    chosen: dict[str, Any] = {"dataset": [whole, other]}
    if place == "validation":
        chosen = {"dataset": whole, "validation": {"dataset": [whole, other]}}
    response = http.post("/v1/fits", json={"graph": GRAPH, **RECIPE, **chosen})
    assert response.status_code == 422
    found = response.json()["errors"]
    assert {error["pointer"] for error in found} == {"/dataset/1" if place == "dataset" else "/validation/dataset/1"}
    assert any(says in error["detail"] for error in found), found


def test_an_unknown_shard_is_named_by_its_place(http: httpx.Client, whole: str) -> None:
    wrong = {"graph": GRAPH, **RECIPE, "dataset": [whole, "ds_01m7xpv32a4ykd0nsmnkebvv3p"]}
    (error,) = http.post("/v1/fits", json=wrong).json()["errors"]
    assert (error["pointer"], error["code"]) == ("/dataset/1", "not_found")


@pytest.mark.parametrize("place", ["dataset", "validation"])
def test_no_dataset_of_an_unfinished_fit_is_deleted(http: httpx.Client, whole: str, place: str) -> None:
    shard = created(http.post("/v1/datasets", json={"columns": {"x": X, "y": Y}}))["id"]
    chosen: dict[str, Any] = {"dataset": [whole, shard]}
    if place == "validation":
        chosen = {"dataset": whole, "validation": {"dataset": [whole, shard]}}
    begun = created(http.post("/v1/fits", json={"graph": GRAPH, **RECIPE, **chosen, "epochs": 1_000_000}))
    response = http.delete(f"/v1/datasets/{shard}")
    assert (response.status_code, response.json()["code"]) == (409, "in_use")
    http.post(f"/v1/fits/{begun['id']}:cancel")
    assert http.get(f"/v1/fits/{begun['id']}", params={"wait": LONGEST_WAIT}).json()["terminal"]
    assert http.delete(f"/v1/datasets/{shard}").status_code == 204


def test_shards_of_different_floats_are_joined(http: httpx.Client) -> None:
    uploaded = [
        created(http.post("/v1/datasets", content=text, headers={"Content-Type": "text/csv"}))
        for text in ("x,y\n0.5,1.5\n1.5,2.5\n", "x,y\n0.1,0.2\n0.3,0.4\n")
    ]
    assert [each["columns"][0]["dtype"] for each in uploaded] == ["float32", "float64"]
    line = {"inputs": {"x": ["n"], "y": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((w * x - y) ** 2)"}
    joined = fitted(http, graph=line, dataset=[each["id"] for each in uploaded], batch_size=4)
    assert joined["step"] == joined["total_steps"]
