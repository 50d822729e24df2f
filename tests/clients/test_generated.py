"""The generated package alone: every step of a fit by its typed functions."""

import io
import json

import pytest

from adjoint_client.generated import Client
from adjoint_client.generated.api.catalogue import get_op, list_losses, list_metric_kinds, list_optimizers
from adjoint_client.generated.api.checkpoints import find_checkpoint, list_parameters, predict_with_checkpoint
from adjoint_client.generated.api.datasets import create_dataset, get_dataset
from adjoint_client.generated.api.fits import create_fit, get_fit, list_fits
from adjoint_client.generated.api.graphs import create_graph, get_graph
from adjoint_client.generated.api.metrics import list_metrics
from adjoint_client.generated.api.system import check_health, get_system
from adjoint_client.generated.models import (
    Dataset,
    Fit,
    FitRequest,
    Graph,
    GraphDefinition,
    MetricRows,
    Prediction,
    PredictRequest,
    Problem,
)
from adjoint_client.generated.types import File
from app.cli.demo import dataset_path, graph_path


@pytest.fixture
def api(url):
    with Client(url) as api:
        yield api


def test_a_round_trip(api):
    graph = create_graph.sync(client=api, body=GraphDefinition.from_dict(json.loads(graph_path("iris").read_text())))
    assert isinstance(graph, Graph)
    assert get_graph.sync(graph.id, client=api) == graph

    rows = File(payload=io.BytesIO(dataset_path("iris").read_bytes()))
    dataset = create_dataset.sync(
        client=api,
        body=rows,
        format_="csv",
        columns="flower:float32[4]=sepal_length..petal_width,species:class",
        name="iris",
    )
    assert isinstance(dataset, Dataset)
    assert get_dataset.sync(dataset.id, client=api) == dataset
    assert (dataset.rows, dataset.columns[1].classes) == (150, ["setosa", "versicolor", "virginica"])

    body = FitRequest(graph=graph.id, dataset=dataset.id, epochs=2, batch_size=50)
    fit = create_fit.sync(client=api, body=body)
    assert isinstance(fit, Fit)
    fit = get_fit.sync(fit.id, client=api, wait=60, until="terminal")
    assert isinstance(fit, Fit)
    assert (fit.state, fit.step, fit.error) == ("succeeded", 6, None)
    assert fit.id in [item.id for item in list_fits.sync(client=api, state="succeeded").data]

    metrics = list_metrics.sync(fit.id, client=api)
    assert isinstance(metrics, MetricRows)
    assert [row.seq for row in metrics.data] == [1, 2, 3, 4, 5, 6]
    assert metrics.data[-1].values["loss"] == fit.latest["loss"]

    checkpoint = find_checkpoint.sync(fit.id, "latest", client=api)
    names = {parameter.name for parameter in list_parameters.sync(checkpoint.id, client=api).data}
    assert names == set(graph.definition["parameters"])
    request = PredictRequest.from_dict({"inputs": {"flower": [[5.1, 3.5, 1.4, 0.2]]}})
    prediction = predict_with_checkpoint.sync(checkpoint.id, client=api, body=request)
    assert isinstance(prediction, Prediction)
    assert prediction.outputs[graph.definition["outputs"][0]].shape == [1, 3]


def test_options_of_a_fit_are_typed(api):
    request = {
        "graph": {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w - 1) ** 2)"},
        "dataset": {"columns": {"x": [1, 2, 3.5]}},
        "epochs": 2,
        "shuffle": {"kind": "none"},
        "normalize": {"x": {"kind": "minmax", "low": 1.0, "high": 2.0}},
        "optimizer": {"kind": "sgd", "lr": 0.1, "groups": [{"match": "w", "lr": 0.2}]},
        "average": "swa",
        "early_stopping": {"monitor": "loss", "patience": 1},
        "checkpoint": {"every_epochs": None},
        "clip": {"p": "inf", "norm": 1.0},
        "resources": {"replicas": 1, "priority": "high"},
    }
    body = FitRequest.from_dict(request)
    assert (body.early_stopping.patience, body.optimizer.groups[0].match) == (1, "w")
    assert body.normalize["x"].high == 2.0
    assert body.to_dict() == request
    fit = create_fit.sync(client=api, body=body)
    assert isinstance(fit, Fit), fit
    assert get_fit.sync(fit.id, client=api, wait=60).state == "succeeded"


def test_the_catalogues_are_typed(api):
    losses = list_losses.sync(client=api)
    assert {operand.name for operand in losses.data[0].operands} == {"target", "weight"}
    (chain,) = [entry for entry in list_optimizers.sync(client=api).data if entry.kind == "chain"]
    (transforms,) = [attr for attr in chain.attrs if attr.name == "transforms"]
    assert "scale_by_adam" in [kind.kind for kind in transforms.kinds]
    assert list_metric_kinds.sync(client=api).data[0].every_step in (True, False)


def test_a_refusal_is_a_typed_problem(api):
    problem = get_fit.sync("fit_0000000000000000000000000z", client=api)
    assert isinstance(problem, Problem)
    assert (problem.status, problem.code) == (404, "not_found")


def test_the_server_describes_itself(api):
    assert check_health.sync(client=api).status == "ok"
    assert get_system.sync(client=api).limits.workers >= 1
    assert get_op.sync("matmul", client=api).name == "matmul"
