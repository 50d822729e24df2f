import httpx
import pytest

import engine

KINDS = ("optimizers", "schedules", "losses", "layers", "initializers", "metrics")


def test_every_op_is_listed_and_found_by_name_and_alias(http: httpx.Client) -> None:
    listed = http.get("/v1/ops").json()["data"]
    assert {entry["name"] for entry in listed} == {entry["name"] for entry in engine.op_catalogue()}
    for entry in listed[:: len(listed) // 10]:
        for name in (entry["name"], *entry["aliases"]):
            assert http.get(f"/v1/ops/{name}").json() == entry


def test_an_op_of_another_engine_says_that_it_is_not_supported(http: httpx.Client) -> None:
    entry = http.get("/v1/ops/ssm_conv").json()
    assert (entry["supported"], entry["instead"]) == (False, "conv1d with groups")
    graph = {"inputs": {"x": [2]}, "nodes": [{"name": "y", "op": "ssm_conv", "inputs": ["x"]}], "outputs": ["y"]}
    response = http.post("/v1/graphs", json=graph)
    assert response.status_code == 422
    assert response.json()["errors"][0]["code"] == "not_supported"
    assert "ssm_conv (state space models) is not supported" in response.json()["errors"][0]["detail"]


def test_an_unknown_op_is_not_found_and_the_nearest_is_named(http: httpx.Client) -> None:
    response = http.get("/v1/ops/matmull")
    assert response.status_code == 404
    assert "'matmul'" in response.json()["detail"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_catalogue_tells_kinds_and_their_options(http: httpx.Client, kind: str) -> None:
    entries = http.get(f"/v1/{kind}").json()["data"]
    assert entries
    for entry in entries:
        assert entry["kind"]
        assert entry["doc"]
        assert all({"name", "type", "required"} <= attr.keys() for attr in entry["attrs"])


def test_the_catalogue_of_schedules_tells_ranges_and_nesting(http: httpx.Client) -> None:
    entries = {entry["kind"]: entry["attrs"] for entry in http.get("/v1/schedules").json()["data"]}
    assert list(entries) == [entry["kind"] for entry in engine.schedule_catalogue()]
    (gamma,) = entries["exponential"]
    assert gamma == {"name": "gamma", "type": "a number", "required": True, "range": "at least 0"}
    assert {attr["name"]: attr["type"] for attr in entries["chained"]} == {"schedules": "a list of schedules"}
