import httpx
import pytest
from pydantic import BaseModel

import engine
from app.api.schemas.catalogue import CatalogueList, LossList, MetricList, OpList

KINDS = ("optimizers", "schedules", "losses", "layers", "initializers", "metrics")
SHAPES: dict[str, type[BaseModel]] = {
    **dict.fromkeys(KINDS, CatalogueList),
    "losses": LossList,
    "metrics": MetricList,
    "ops": OpList,
}


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
def test_every_catalogue_shows_kinds_and_their_options(http: httpx.Client, kind: str) -> None:
    entries = http.get(f"/v1/{kind}").json()["data"]
    assert entries
    for entry in entries:
        assert entry["kind"]
        assert entry["doc"]
        assert all({"name", "type", "required"} <= attr.keys() for attr in entry["attrs"])


@pytest.mark.parametrize(("kind", "shape"), SHAPES.items())
def test_every_catalogue_has_the_shape_that_the_contract_says(
    http: httpx.Client, kind: str, shape: type[BaseModel]
) -> None:
    shape.model_validate(http.get(f"/v1/{kind}").json())


def test_the_options_of_what_a_list_holds_are_reported(http: httpx.Client) -> None:
    entries = {entry["kind"]: entry["attrs"] for entry in http.get("/v1/optimizers").json()["data"]}
    transforms = next(attr for attr in entries["chain"] if attr["name"] == "transforms")
    held = {entry["kind"]: {attr["name"] for attr in entry["attrs"]} for entry in transforms["kinds"]}
    assert {"b1", "b2"} <= held["scale_by_adam"]
    assert {"history_size", "line_search"} <= {attr["name"] for attr in entries["lbfgs"]}


def test_losses_show_operands_and_metrics_what_they_judge(http: httpx.Client) -> None:
    losses = {entry["kind"]: entry for entry in http.get("/v1/losses").json()["data"]}
    assert [operand["name"] for operand in losses["cross_entropy"]["operands"]] == ["target", "weight"]
    metrics = {entry["kind"]: entry for entry in http.get("/v1/metrics").json()["data"]}
    assert (metrics["auc"]["goal"], metrics["auc"]["every_step"]) == ("max", False)
    assert metrics["mae"]["predictions"].keys() == {"numbers"}


def test_the_catalogue_of_schedules_shows_ranges_and_nesting(http: httpx.Client) -> None:
    entries = {entry["kind"]: entry["attrs"] for entry in http.get("/v1/schedules").json()["data"]}
    assert list(entries) == [entry["kind"] for entry in engine.schedule_catalogue()]
    (gamma,) = entries["exponential"]
    assert gamma == {"name": "gamma", "type": "a number", "required": True, "range": "at least 0"}
    assert {attr["name"]: attr["type"] for attr in entries["chained"]} == {"schedules": "a list of schedules"}
