"""Mixed precision: every op has its policy, models train as under torch.autocast, parameters stay float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType, is_float
from engine.core.errors import DocumentError, DTypeError
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.core.value import Array, Value
from engine.execution.plan import NumpyExecutor, Plan, make_plan
from engine.graph.autocast import at_autocast
from engine.graph.codec import parse_graph
from engine.graph.definition import Definition
from engine.graph.trace import build
from engine.ops import OPS
from tests.support.rows import each_row

pytestmark = pytest.mark.law

assert BFLOAT16 is not None
GOLDEN = Path(__file__).parent / "golden" / "autocast.npz"
HALVES = [pytest.param(dtype, id=dtype.name) for dtype in (FLOAT16, BFLOAT16)]
CLASSES = {"shape": ["n"], "dtype": "int64"}
HEAD = {"layer": "linear", "units": 3, "name": "head"}
MODELS: dict[str, dict[str, Any]] = {
    "mlp": {
        "inputs": {"x": ["n", 8], "y": CLASSES},
        "layers": [{"layer": "linear", "units": 16, "name": "hidden", "activation": "relu"}, HEAD],
    },
    "cnn": {
        "inputs": {"x": ["n", 2, 6, 6], "y": CLASSES},
        "layers": [
            {"layer": "conv2d", "channels": 4, "kernel": 3, "padding": 1, "bias": False, "name": "conv"},
            {"layer": "batch_norm", "name": "norm"},
            "relu",
            {"layer": "max_pool2d", "kernel": 2},
            "flatten",
            HEAD,
        ],
    },
    "transformer": {
        "inputs": {"x": ["n", 5, 8], "y": CLASSES},
        "layers": [
            {"layer": "transformer_encoder_layer", "heads": 2, "width": 16, "dropout": 0.0, "name": "block"},
            "flatten",
            HEAD,
        ],
    },
    "lstm": {
        "inputs": {"x": ["n", 7, 5], "y": CLASSES},
        "layers": [{"layer": "lstm", "units": 6, "result": "last", "name": "cells"}, HEAD],
    },
}


def model(name: str) -> Definition:
    return parse_graph({**MODELS[name], "loss": "cross_entropy"})


def waves(*shape: int, start: float = 0.0) -> Array:
    """Numbers that every machine makes alike: sines of the counting numbers, to six places."""
    count = int(np.prod(shape))
    return np.round(np.sin(np.arange(count) * 1.7 + start), 6).reshape(shape).astype(np.float32)


def planned(definition: Definition, half: DType | None, rows: int = 6) -> Plan:
    """Plan the loss, the gradients and the new running statistics of one step."""
    graph = build(definition, {"n": rows}, training=True, autocast=half)
    loss = graph.total_loss()
    gradients = {n: g for n, g in graph.gradients(loss, graph.parameters).items() if g is not None}
    state = {**graph.parameters, **graph.buffers}
    return make_plan({**graph.inputs, "key": graph.key}, state, {"loss": loss, **gradients}, graph.buffer_updates)


def first_state(definition: Definition) -> dict[str, Array]:
    state = {
        name: 0.4 * waves(*definition.parameters[name].shape, start=float(place))
        for place, name in enumerate(sorted(definition.parameters))
    }
    buffers = {n: np.full(s.shape, float("var" in n), s.dtype) for n, s in definition.buffers.items()}
    return {n: a.astype(np.float32) for n, a in state.items()} | buffers


def step(definition: Definition, half: DType | None) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return loss and gradients, and the state after one step."""
    shape = tuple(extent for extent in definition.inputs["x"].shape if isinstance(extent, int))
    rows = 16 if len(shape) == 1 else 6
    plan, state = planned(definition, half, rows), first_state(definition)
    executor = NumpyExecutor(plan, state)
    executor.inputs["x"][...] = waves(rows, *shape, start=0.5)
    executor.inputs["y"][...] = np.arange(rows) % 3
    executor.run()
    return {name: array.copy() for name, array in executor.outputs.items()}, state


def distance(a: Array, b: Array) -> float:
    """Return how far a is from b, as a share of b."""
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


@each_row("name", MODELS)
def test_without_autocast_a_model_is_pytorchs_in_float32(name: str) -> None:
    golden = np.load(GOLDEN)
    found, _ = step(model(name), None)
    for key, array in found.items():
        assert distance(array, golden[f"{name} float32 {key}"]) < 1e-5, key


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_as_near_to_pytorchs_autocast_as_roundings_allow(name: str, half: DType) -> None:
    golden = np.load(GOLDEN)
    unit = 2.0**-8 if half is BFLOAT16 else 2.0**-11
    wide, _ = step(model(name), None)
    found, _ = step(model(name), half)
    changed = 0.0
    for key, array in found.items():
        assert array.dtype == FLOAT32
        assert distance(array, golden[f"{name} {half.name} {key}"]) < 6 * unit, key
        assert distance(array, wide[key]) < 10 * unit, key
        changed = max(changed, distance(array, wide[key]))
    assert changed > unit / 8, "nothing was computed in the half type"


def test_a_plain_network_has_the_very_bits_of_pytorchs() -> None:
    golden = np.load(GOLDEN)
    for half in (FLOAT16, BFLOAT16):
        found, _ = step(model("mlp"), half)
        worst = max(distance(array, golden[f"mlp {half.name} {key}"]) for key, array in found.items())
        assert worst < 1e-6


@pytest.mark.parametrize("half", HALVES)
def test_running_statistics_stay_float32_and_are_updated(half: DType) -> None:
    _, state = step(model("cnn"), half)
    _, wide = step(model("cnn"), None)
    for name in ("norm.running_mean", "norm.running_var"):
        assert state[name].dtype == FLOAT32
        np.testing.assert_allclose(state[name], wide[name], rtol=1e-3, atol=1e-4)
        assert not np.array_equal(state[name], first_state(model("cnn"))[name])


def mixed_samples(op: Op[Any], half: DType) -> list[tuple[Sample, list[Value]]]:
    """Give each sample with its floating inputs in the half type and in float32 by turns."""
    found = []
    for number, sample in enumerate(op.samples):
        leaves, floats = [], 0
        for array in (np.asarray(a) for a in sample.arrays(f"{op.name}-{number}")):
            if array.dtype.kind == "f":
                array = array.astype(half if floats % 2 == 0 else FLOAT32)
                floats += 1
            leaves.append(Value(array.shape, array.dtype, array))
        found.append((sample, leaves))
    return found


@pytest.mark.parametrize("half", HALVES)
def test_every_op_takes_what_its_policy_gives_it(half: DType) -> None:
    for op in OPS.values():
        for sample, leaves in mixed_samples(op, half):
            given = [v for v in at_autocast(op, leaves, half) if isinstance(v, Value)]
            types = {v.dtype for v in given if is_float(v.dtype)}
            match op.numerics.autocast:
                case "half":
                    assert types <= {half}, op.name
                case "float32":
                    assert types <= {FLOAT32}, op.name
                case "widest":
                    assert len(types) < 2 or op.promotion != "none", op.name
                case "unchanged":
                    assert given == leaves, op.name
                case policy:
                    raise AssertionError(f"{op.name} declares the unknown policy {policy!r}")
            created = op(*given, **sample.attrs)
            for value in created if isinstance(created, tuple) else (created,):
                assert value.numpy().dtype == value.dtype, op.name


def test_ops_that_update_running_statistics_take_them_in_float32() -> None:
    updating = [op for op in OPS.values() if op.memory.state_updates]
    assert updating
    assert {op.numerics.autocast for op in updating} == {"float32"}


def test_integers_and_plain_numbers_stay_as_they_are() -> None:
    counts = Value((2,), np.dtype("int64"), np.arange(2))
    operands = [counts, 2.0, True]
    assert at_autocast(OPS["where"], operands, FLOAT16) == operands


def test_operands_that_are_one_value_stay_one_value() -> None:
    operand = Value((2, 2), FLOAT32, np.ones((2, 2), np.float32))
    first, second = at_autocast(OPS["matmul"], [operand, operand], FLOAT16)
    assert first is second
    assert isinstance(first, Value)
    assert first.dtype == FLOAT16


def test_promoting_ops_keep_their_own_rule_for_numbers_without_axes() -> None:
    array = Value((2,), FLOAT16, np.ones(2, np.float16))
    number = Value((), FLOAT32, np.ones((), np.float32))
    assert OPS["mul"](*at_autocast(OPS["mul"], [array, number], FLOAT16)).dtype == FLOAT16


@pytest.mark.parametrize("half", HALVES)
def test_a_loss_is_float32_whatever_makes_it(half: DType) -> None:
    graph = parse_graph(
        {"inputs": {"x": [1, 4]}, "parameters": {"w": [4, 1]}, "program": "loss = x @ w", "losses": ["loss"]}
    )
    trace = build(graph, {}, training=True, autocast=half)
    assert trace.value("loss").dtype == half
    assert trace.total_loss().dtype == FLOAT32
    assert trace.gradients(trace.total_loss(), trace.parameters)["w"].dtype == FLOAT32


def test_a_parameter_that_is_used_twice_is_cast_once_and_its_gradients_meet_in_float32() -> None:
    graph = parse_graph(
        {
            "inputs": {"x": ["n", 4]},
            "parameters": {"w": [4, 4]},
            "program": "h = relu(x @ w)\nloss = mean(square(h @ w))",
        }
    )
    plan = planned(graph, BFLOAT16)
    to_half = [step for step in plan.steps if step.op.name == "cast" and step.inputs[0] == plan.state["w"]]
    assert len(to_half) == 1
    (total,) = [s for s in plan.steps if plan.outputs["w"] in s.outputs]
    assert total.op.name == "add"
    assert {plan.buffers[number].spec.dtype for number in total.inputs} == {FLOAT32}


def test_activations_are_kept_in_the_half_type_alone() -> None:
    layers = [{"layer": "linear", "units": 16, "activation": "gelu"} for _ in range(12)]
    graph = parse_graph({"inputs": {"x": ["n", 16], "y": ["n", 16]}, "layers": layers, "loss": "mse_loss"})
    arenas = [planned(graph, half, rows=2048).arena_bytes for half in (None, BFLOAT16, FLOAT16)]
    assert arenas[1] <= arenas[2] < 0.65 * arenas[0], "products read bfloat16 itself"


@pytest.mark.parametrize("place", ["inputs", "parameters"])
def test_float64_graphs_are_refused_at_the_leaf(place: str) -> None:
    document: dict[str, Any] = {
        "inputs": {"x": {"shape": [3, 4]}},
        "parameters": {"w": {"shape": [4, 2]}},
        "program": "loss = mean(x @ w)",
    }
    definition = parse_graph(document)
    leaf = "x" if place == "inputs" else "w"
    document[place][leaf]["dtype"] = "float64"
    assert build(definition, {}, training=True, autocast=FLOAT16).losses
    with pytest.raises(DocumentError, match="mixed precision is for float32 graphs") as caught:
        build(parse_graph(document), {}, training=True, autocast=FLOAT16)
    assert [finding.pointer for finding in caught.value.findings] == [f"/{place}/{leaf}/dtype"]


def test_a_float64_value_that_a_graph_asks_for_stays_float64() -> None:
    nodes = [
        {"name": "wide", "op": "cast", "inputs": ["x"], "attrs": {"dtype": "float64"}},
        {"name": "total", "op": "mean", "inputs": ["wide"]},
    ]
    graph = parse_graph({"inputs": {"x": [4]}, "nodes": nodes, "outputs": ["total"]})
    assert build(graph, {}, training=True, autocast=FLOAT16).value("total").dtype == FLOAT64


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64, np.dtype("int16")])
def test_only_half_types_are_taken(dtype: DType) -> None:
    with pytest.raises(DTypeError, match="float16 or bfloat16, not in"):
        build(model("mlp"), {"n": 2}, training=True, autocast=dtype)
