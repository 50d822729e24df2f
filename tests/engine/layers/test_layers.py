"""Every layer builds, runs, trains, and starts as PyTorch's."""

import json
import math

import numpy as np
import pytest

import engine
from engine.layers import LAYERS, LOSSES

IMAGE = {1: ["batch", 4, 8], 2: ["batch", 4, 8, 8], 3: ["batch", 4, 4, 4, 4]}
SAMPLES = {
    "linear": ({"units": 5}, ["batch", 4]),
    "embedding": ({"rows": 7, "units": 3}, {"shape": ["batch", 2], "dtype": "int64"}),
    "batch_norm": ({"eps": 1e-3, "momentum": 0.2}, ["batch", 4, 3]),
    "layer_norm": ({"axes": 2}, ["batch", 4, 3]),
    "multi_head_attention": ({"heads": 2, "causal": True}, ["batch", 3, 4]),
    "dropout": ({"p": 0.2}, ["batch", 4]),
    "flatten": ({}, ["batch", 4, 3]),
    "reshape": ({"shape": [2, 6]}, ["batch", 4, 3]),
    "global_avg_pool": ({}, IMAGE[2]),
    **{f"conv{rank}d": ({"channels": 6, "kernel": 3, "padding": 1, "groups": 2}, IMAGE[rank]) for rank in IMAGE},
    **{f"{kind}_pool{rank}d": ({"kernel": 2}, IMAGE[rank]) for rank in IMAGE for kind in ("max", "avg")},
}
ACTIVATIONS = [
    kind for kind in LAYERS if not engine.layer_catalogue()[list(LAYERS).index(kind)]["attrs"] and kind not in SAMPLES
]


def stack(kind, options, shape):
    """Return a graph of one layer and, where it has no parameters, a linear one before its sum."""
    return {"inputs": {"x": shape}, "layers": [{"layer": kind, **options}]}


def feed(spec):
    """Return rows for an input."""
    shape = spec["shape"] if isinstance(spec, dict) else spec
    shape = [6 if extent == "batch" else extent for extent in shape]
    generator = np.random.default_rng(0)
    if isinstance(spec, dict):
        return generator.integers(0, 7, shape).tolist()
    return generator.standard_normal(shape).tolist()


@pytest.mark.parametrize("kind", LAYERS)
def test_every_layer_builds_and_runs_in_both_modes(kind):
    options, spec = SAMPLES.get(kind, ({}, ["batch", 4]))
    definition = engine.parse_graph(stack(kind, options, spec))
    again = engine.parse_graph(json.loads(json.dumps(definition.to_json())))
    assert again == definition
    assert all(name.startswith(f"{kind}_0.") for name in (*definition.parameters, *definition.buffers))
    for training in (False, True):
        result = engine.compute(definition, {"inputs": {"x": feed(spec)}, "want": ["outputs"], "training": training})
        (output,) = result["outputs"].values()
        assert output.dtype == np.float32
        assert len(output) == 6
        assert np.isfinite(output).all()


@pytest.mark.parametrize("kind", LAYERS)
def test_every_layer_is_described(kind):
    entry = next(entry for entry in engine.layer_catalogue() if entry["kind"] == kind)
    assert entry["doc"]
    assert all(attribute["type"] for attribute in entry["attrs"])
    assert json.loads(json.dumps(entry))


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_an_activation_is_a_layer_and_an_option_of_others(kind):
    alone = engine.parse_graph({"inputs": {"x": ["n", 4]}, "layers": [{"layer": "linear", "units": 3}, kind]})
    inside = engine.parse_graph(
        {"inputs": {"x": ["n", 4]}, "layers": [{"layer": "linear", "units": 3, "activation": kind}]}
    )
    request = {"inputs": {"x": feed(["batch", 4])}, "want": ["outputs"]}
    (first,), (second,) = (engine.compute(d, request)["outputs"].values() for d in (alone, inside))
    np.testing.assert_array_equal(first, second)


def test_there_are_activations():
    assert {"relu", "tanh", "gelu", "softmax"} <= set(ACTIVATIONS)


@pytest.mark.parametrize(
    ("kind", "options", "shape", "weight", "fan_in"),
    [
        ("linear", {"units": 50}, ["n", 40], (50, 40), 40),
        ("conv1d", {"channels": 30, "kernel": 5}, ["n", 12, 20], (30, 12, 5), 60),
        ("conv2d", {"channels": 30, "kernel": [3, 2], "groups": 3}, ["n", 12, 9, 9], (30, 4, 3, 2), 24),
        ("conv3d", {"channels": 20, "kernel": 2}, ["n", 4, 5, 5, 5], (20, 4, 2, 2, 2), 32),
    ],
)
def test_weights_and_biases_start_within_the_bounds_of_pytorch(kind, options, shape, weight, fan_in):
    definition = engine.parse_graph(stack(kind, options, shape))
    specs = {name.rpartition(".")[2]: spec for name, spec in definition.parameters.items()}
    assert specs["weight"].shape == weight
    assert specs["bias"].shape == weight[:1]
    bound = 1 / math.sqrt(fan_in)
    assert specs["bias"].init == {"kind": "uniform", "low": -bound, "high": bound}
    assert specs["weight"].init == {"kind": "kaiming_uniform", "a": math.sqrt(5)}


def test_layers_are_counted_by_kind_unless_named():
    definition = engine.parse_graph(
        {
            "inputs": {"x": ["n", 4]},
            "layers": [
                "relu",
                {"layer": "linear", "units": 4},
                {"layer": "linear", "units": 4, "name": "last"},
                "relu",
            ],
        }
    )
    assert [node.name for node in definition.nodes] == ["relu_0", "linear_0", "last", "relu_1"]


TARGETS = {
    "cross_entropy": {"shape": ["batch"], "dtype": "int64"},
    "nll_loss": {"shape": ["batch"], "dtype": "int64"},
}


@pytest.mark.parametrize("kind", LOSSES)
def test_every_loss_ends_a_stack_and_trains(kind):
    target = TARGETS.get(kind, {"shape": ["batch", 3], "dtype": "float32"})
    last = {"nll_loss": ["log_softmax"], "kl_div": ["log_softmax"], "bce_loss": ["sigmoid"]}.get(kind, [])
    document = {
        "inputs": {"x": ["batch", 4], "target": target},
        "layers": [{"layer": "linear", "units": 3}, *last],
        "loss": kind,
    }
    definition = engine.parse_graph(document)
    assert (definition.losses, definition.implicit_loss) == (("loss",), False)
    generator = np.random.default_rng(0)
    x = generator.standard_normal((12, 4))
    rows = generator.integers(0, 3, 12) if kind in TARGETS else generator.uniform(0.1, 0.9, (12, 3))
    recipe = engine.read_recipe({"steps": 15, "batch_size": 12, "optimizer": {"kind": "adam", "lr": 0.05}})
    points = list(engine.Fit(definition, recipe, {"x": x, "target": rows}))
    assert points[-1].values["loss"] < points[0].values["loss"]


def test_losses_are_described():
    catalogue = engine.loss_catalogue()
    assert [entry["kind"] for entry in catalogue] == list(LOSSES)
    assert all(entry["doc"] for entry in catalogue)
