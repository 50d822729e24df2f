"""Every choice by name answers an unknown name with the nearest one and with the names that it accepts."""

import re

import numpy as np
import pytest

import engine
from engine.core.errors import MOST_LISTED, accepted_names
from engine.core.options import Reader
from engine.core.registry import OPS, lookup
from engine.data.normalization import KINDS, read_normalize
from engine.execution.native import KNOWN_EXECUTORS, chosen
from engine.ggml.opt_params import LossType, OptimizerType, parse_kind
from engine.nn.initializers import INITIALIZERS, resolve
from engine.nn.layers import LAYERS, loss_declarations
from engine.nn.layers.table import find_layer
from engine.optim.optimizers import OPTIMIZERS, TRANSFORMS, make_optimizer, read_transforms
from engine.optim.schedules.schedule import SCHEDULES
from engine.training.metrics.table import METRICS, read_metrics
from tests.support.rows import each_row


def read(reading):
    reader = Reader()
    reading(reader)
    reader.finish()


def graph(loss="mse", **layer):
    return engine.parse_graph({
        "inputs": {"x": ["n", 2], "y": ["n", 1]},
        "layers": [{"layer": "linear", "units": 1, **layer}],
        "loss": loss,
    })  # fmt: skip


ONE_STEP = {"steps": 1, "batch_size": 1}
# What is asked for by an unknown name, that name, the nearest one, and all that are accepted.
CHOICES = {
    "loss": (graph, "msee_loss", "mse_loss", loss_declarations()),
    "ggml's loss in a graph": (graph, "GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR", "mse_loss", loss_declarations()),
    "op": (lookup, "sofmax", "softmax", OPS),
    "layer": (find_layer, "linea", "linear", LAYERS),
    "activation": (lambda name: graph(activation=name), "rellu", "relu", ()),
    "initializer": (lambda name: resolve({"kind": name}), "xavier_unifrom", "xavier_uniform", INITIALIZERS),
    "optimizer": (lambda name: make_optimizer({"kind": name}), "adamww", "adamw", OPTIMIZERS),
    "ggml's optimizer": (lambda name: make_optimizer({"kind": name}), "GGML_OPT_OPTIMIZER_TYPE_SGD", "sgd", OPTIMIZERS),
    "schedule": (lambda name: engine.read_recipe({**ONE_STEP, "schedule": name}), "cosin", "cosine", SCHEDULES),
    "transform": (lambda name: read(lambda r: read_transforms(r, [name], "")), None, None, TRANSFORMS),
    "metric": (lambda name: read(lambda r: read_metrics(r, [name], "")), "acuracy", "accuracy", METRICS),
    "normalisation": (lambda name: read(lambda r: read_normalize(r, {"x": name}, "")), "standart", "standard", KINDS),
    "precision": (lambda name: engine.read_recipe({**ONE_STEP, "precision": name}), "float23", "float32", ()),
    "executor": (chosen, "nativ", "native", KNOWN_EXECUTORS),
    "device": (lambda name: np.asarray(engine.zeros((1,), device=name)), "cpuu", "cpu", ("cpu",)),
    "ggml's loss type": (
        lambda name: parse_kind(LossType, name), "GGML_OPT_LOSS_TYPE_MEEN", "MEAN", LossType.__members__
    ),
    "ggml's optimizer type": (
        lambda name: parse_kind(OptimizerType, name), "ADAMWW", "ADAMW", OptimizerType.__members__
    ),
}  # fmt: skip


@each_row(("choose", "wrong", "right", "known"), CHOICES.values(), ids=CHOICES)
def test_an_unknown_name_is_answered_with_the_nearest_and_the_list(choose, wrong, right, known):
    right = right or next(iter(known))
    with pytest.raises(engine.EngineError) as caught:
        choose(wrong or f"{right}x")
    message = str(caught.value)
    assert f"did you mean {right!r}?" in message
    if len(known) <= MOST_LISTED:
        assert all(name in message for name in known)
    else:
        assert re.search(r"of \d+ accepted names the nearest are .*, .*, .*; GET /v1/\w+ lists all", message)


def test_what_is_near_to_nothing_is_answered_with_the_list():
    assert accepted_names("zzz", ("sgd", "adam")) == "; accepted are sgd, adam"
    long = [f"name_{number}" for number in range(MOST_LISTED + 1)]
    assert accepted_names("name_7", long, "GET /v1/ops").startswith("; did you mean 'name_7'?; of 41")


@pytest.mark.parametrize("name", ["MEAN", "GGML_OPT_LOSS_TYPE_SUM"])
def test_reductions_of_ggml_are_no_losses_of_layers(name):
    with pytest.raises(engine.DocumentError, match=r"write a program that ends in loss = (mean|sum)\(.*mse_loss"):
        graph(name)
