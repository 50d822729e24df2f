"""Gradient checkpointing in graphs: the same bits in less memory, and only what was asked for is computed again."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16, FLOAT32, FLOAT64, DType
from engine.core.errors import DocumentError
from engine.core.options import Reader, read_options
from engine.core.value import Value
from engine.execution.plan import NumpyExecutor, Plan, make_plan, plan_text
from engine.graph.codec import parse_graph
from engine.graph.definition import Definition
from engine.graph.rematerialization import RematOptions
from engine.graph.trace import Trace, build
from engine.nn.initializers import initialize
from engine.ops.shape.shape import pack
from tests.support.rows import each_row

pytestmark = pytest.mark.law

CLASSES = {"shape": ["n"], "dtype": "int64"}
TYPES = [pytest.param(dtype, id=dtype.name) for dtype in (FLOAT32, FLOAT64)]


def deep(layers: int = 32, units: int = 16, dtype: DType = FLOAT32, dropout: float = 0.0) -> Definition:
    """A network of many equal layers, each called block_k."""
    drop = [{"layer": "dropout", "p": dropout}] if dropout else []
    blocks = [
        [{"layer": "linear", "units": units, "activation": "gelu", "name": f"block_{k}"}, *drop] for k in range(layers)
    ]
    return parse_graph(
        {
            "inputs": {"x": {"shape": ["n", units], "dtype": dtype.name}, "y": CLASSES},
            "layers": [*chain(*blocks), {"layer": "linear", "units": 4, "name": "head"}],
            "loss": "cross_entropy",
        }
    )


def picture(dtype: DType = FLOAT32) -> Definition:
    """A residual network with running statistics and dropout."""
    convolution = {"layer": "conv2d", "channels": 4, "kernel": 3, "padding": 1}
    return parse_graph(
        {
            "inputs": {"x": {"shape": ["n", 2, 6, 6], "dtype": dtype.name}, "y": CLASSES},
            "layers": [
                {**convolution, "name": "stem"},
                {"layer": "residual", "layers": [convolution, "batch_norm", "relu"], "name": "first"},
                {"layer": "dropout", "p": 0.3, "name": "drop"},
                {"layer": "residual", "layers": [convolution, "batch_norm", "silu"], "name": "second"},
                "flatten",
                {"layer": "linear", "units": 4, "name": "head"},
            ],
            "loss": "cross_entropy",
        }
    )


def attentive(dtype: DType = FLOAT32) -> Definition:
    block = {"layer": "transformer_encoder_layer", "heads": 2, "width": 16, "dropout": 0.2}
    return parse_graph(
        {
            "inputs": {"x": {"shape": ["n", 5, 8], "dtype": dtype.name}, "y": CLASSES},
            "layers": [{**block, "name": "low"}, {**block, "name": "high"}, "flatten", {"layer": "linear", "units": 4}],
            "loss": "cross_entropy",
        }
    )


def tied(dtype: DType = FLOAT32) -> Definition:
    """One weight in every layer, an input that is read everywhere, and a layer that reads an early one."""
    lines = [f"h{k + 1} = tanh(h{k} @ w + x * b)" for k in range(6)]
    return parse_graph(
        {
            "inputs": {"x": {"shape": ["n", 4], "dtype": dtype.name}, "y": CLASSES},
            "parameters": {
                "w": {"shape": [4, 4], "dtype": dtype.name, "init": {"kind": "normal", "std": 0.7}},
                "b": {"shape": [4], "dtype": dtype.name, "init": {"kind": "normal", "std": 0.5}},
            },
            "program": "\n".join(["h0 = x * 1.5", *lines, "loss = cross_entropy(h6 * h1 + dropout(h2, p=0.5), y)"]),
        }
    )


NETWORKS = {
    "deep": (lambda dtype: deep(8, 6, dtype, dropout=0.2), RematOptions(segments=3)),
    "picture": (picture, RematOptions(segments=4)),
    "picture by name": (picture, RematOptions(match=("second*", "first*"))),
    "transformer": (attentive, RematOptions(match=("low*", "high*"))),
    "every node by itself": (tied, RematOptions(match=tuple(f"h{k}" for k in range(7)))),
    "tied": (tied, RematOptions(segments=3)),
}


def planned(graph: Trace) -> Plan:
    """Plan a step of gradient descent with momentum, its gradients in one vector that is not in the arena."""
    loss = graph.total_loss()
    gradients = {n: g for n, g in graph.gradients(loss, graph.parameters).items() if g is not None}
    with graph.trace():
        ends = np.cumsum([0, *(g.size for g in gradients.values())]).tolist()
        vector = pack(*gradients.values(), offsets=tuple(ends[:-1]), size=ends[-1])
        velocity = Value(vector.shape, vector.dtype, None, name="velocity")
        moved = velocity * 0.9 + vector
        updates = {**graph.buffer_updates, "velocity": moved}
        for name, start in zip(gradients, ends, strict=False):
            leaf = graph.parameters[name]
            updates[name] = leaf - moved[start : start + leaf.size].reshape(shape=leaf.shape) * 0.1
    state = {**graph.parameters, **graph.buffers, "velocity": velocity}
    return make_plan({**graph.inputs, "key": graph.key}, state, {"loss": loss, "gradient": vector}, updates)


def trained(definition: Definition, steps: int, rows: int = 6, **options: Any) -> list[bytes]:
    """Return the bits of loss, gradients and state after each step."""
    plan = planned(build(definition, {"n": rows}, training=True, **options))
    specs = {**definition.parameters, **definition.buffers}
    state = {n: initialize(s.init, n, s.shape, s.dtype, 3) for n, s in specs.items()}
    state["velocity"] = np.zeros(plan.buffers[plan.state["velocity"]].spec.shape, definition.inputs["x"].dtype)
    executor, drawn, found = NumpyExecutor(plan, state), np.random.default_rng(5), []
    for step in range(steps):
        executor.inputs["x"][...] = drawn.standard_normal(executor.inputs["x"].shape)
        executor.inputs["y"][...] = drawn.integers(0, 4, rows)
        executor.inputs["key"][...] = (step, 11)
        executor.run()
        arrays = [*executor.outputs.values(), *(state[name] for name in sorted(state))]
        found.append(b"".join(array.tobytes() for array in arrays))
    return found


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NETWORKS)
def test_ten_steps_of_training_have_the_bits_of_the_plain_graph(name: str, dtype: DType) -> None:
    network, segments = NETWORKS[name]
    definition = network(dtype)
    plain = trained(definition, 10)
    assert len(set(plain)) == 10
    again = trained(definition, 10, recompute=segments)
    assert [a == b for a, b in zip(plain, again, strict=True)] == [True] * 10


def test_under_mixed_precision_the_bits_are_the_same_too() -> None:
    for half in (np.dtype("float16"), BFLOAT16):
        plain = trained(picture(), 4, autocast=half)
        assert trained(picture(), 4, autocast=half, recompute=RematOptions(segments=3)) == plain


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "every node by itself"])
def test_what_is_in_segments_is_computed_twice(name: str) -> None:
    network, segments = NETWORKS[name]
    definition = network(FLOAT32)
    plain, again = (
        planned(build(definition, {"n": 6}, training=True, recompute=recompute)) for recompute in (None, segments)
    )
    assert len(again.steps) > len(plain.steps)


def test_a_deep_network_takes_memory_like_the_root_of_its_depth() -> None:
    arenas = {}
    for layers in (16, 64):
        definition = deep(layers)
        plain = planned(build(definition, {"n": 256}, training=True)).arena_bytes
        pieces = round(2 * layers**0.5)
        cut = build(definition, {"n": 256}, training=True, recompute=RematOptions(segments=pieces))
        arenas[layers] = plain, planned(cut).arena_bytes
    assert arenas[64][0] > 3.6 * arenas[16][0]
    assert arenas[64][1] < 2.2 * arenas[16][1]
    assert arenas[64][1] < arenas[64][0] / 4


def test_half_types_and_segments_save_memory_together() -> None:
    definition = deep(24)
    options: list[dict[str, Any]] = [{}, {"autocast": BFLOAT16}]
    options += [{**option, "recompute": RematOptions(segments=6)} for option in options]
    plain, half, cut, both = (
        planned(build(definition, {"n": 512}, training=True, **option)).arena_bytes for option in options
    )
    assert half < 0.7 * plain
    assert cut < 0.5 * plain
    assert both < 0.75 * cut


def test_the_second_run_of_a_segment_comes_after_the_backward_pass_of_the_one_behind_it() -> None:
    plan = planned(build(deep(8), {"n": 64}, training=True, recompute=RematOptions(segments=4)))
    weights = {plan.buffers[plan.state[f"block_{k}.weight"]].allocation: k for k in range(8)}
    order = [
        weights[plan.buffers[step.inputs[1]].allocation]
        for step in plan.steps
        if step.op.name == "matrix_product" and plan.buffers[step.inputs[1]].allocation in weights
    ]
    # Forward through all; then piece by piece from the back: forward again, and backward. The last layers of a piece
    # that end in a value which is kept are not computed again; a product with the weights turned is a backward one.
    assert order[:8] == list(range(8))
    seen = order[8:]
    first = {k: seen.index(k) for k in set(seen)}
    assert [k for k in sorted(first, key=first.__getitem__) if k in (7, 5, 3, 1)] == [7, 5, 3, 1]


def test_running_statistics_are_updated_by_the_first_run_alone() -> None:
    graph = build(picture(), {"n": 6}, training=True, recompute=RematOptions(match=("first*", "second*")))
    norms = [step for step in planned(graph).steps if step.op.name == "batch_norm"]
    assert len(norms) == 4
    created = {node for outputs in graph.values.values() for value in outputs if (node := value.node) is not None}
    assert {value.node for value in graph.buffer_updates.values()} <= created | {None}


def test_pieces_are_cut_where_little_crosses() -> None:
    wide = [{"layer": "linear", "units": 64}, "relu", {"layer": "linear", "units": 4}, "relu"]
    definition = parse_graph(
        {"inputs": {"x": ["n", 4], "y": ["n", 4]}, "layers": wide * 6, "loss": {"kind": "mse_loss", "target": "y"}}
    )
    graph = build(definition, {"n": 32}, training=True, recompute=RematOptions(segments=6))
    assert graph.segmentation is not None
    chosen = graph.segmentation.chosen
    borders = [node for node, a, b in zip(definition.nodes, chosen, chosen[1:], strict=False) if a != b]
    assert len(borders) == 5
    assert {graph.value(node.name).shape for node in borders} == {(32, 4)}
    assert chosen[-1] is None


def test_a_graph_without_gradients_inside_segments_is_what_it_was() -> None:
    definition = deep(4)
    plain = build(definition, {"n": 3}, training=True)
    cut = build(definition, {"n": 3}, training=True, recompute=RematOptions(segments=2))
    forward = [
        plan_text(make_plan(graph.inputs, graph.parameters, {"loss": graph.total_loss()}, {})) for graph in (plain, cut)
    ]
    assert forward[0] == forward[1]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"segments": 4}, RematOptions(segments=4)),
        ({"match": ["block_0*", "block_1*"]}, RematOptions(match=("block_0*", "block_1*"))),
    ],
)
def test_the_options_are_read_from_a_request(document: dict[str, Any], expected: RematOptions) -> None:
    reader = Reader()
    assert read_options(reader, document, "/recompute", RematOptions) == expected
    assert not reader.findings


@each_row(
    ("document", "pointer", "code"),
    [
        ({}, "/recompute", "attribute_invalid"),
        ({"segments": 2, "match": ["a"]}, "/recompute", "attribute_invalid"),
        ({"segments": 1}, "/recompute/segments", "out_of_range"),
        ({"segments": 10**6}, "/recompute/segments", "out_of_range"),
        ({"segments": "two"}, "/recompute/segments", "attribute_invalid"),
        ({"match": "block*"}, "/recompute/match", "attribute_invalid"),
        ({"pieces": 2}, "/recompute/pieces", "unknown_field"),
    ],
)
def test_options_that_do_not_serve_are_faults_at_their_place(document: dict[str, Any], pointer: str, code: str) -> None:
    reader = Reader()
    read_options(reader, document, "/recompute", RematOptions)
    assert (pointer, code) in [(finding.pointer, finding.code) for finding in reader.findings]


@pytest.mark.parametrize(
    ("segments", "pointer", "detail"),
    [
        (RematOptions(segments=500), "/segments", "cannot be cut into 500 pieces"),
        (RematOptions(match=("block_0", "blok*")), "/match/1", "no node of the graph fits 'blok\\*'"),
    ],
)
def test_options_that_do_not_fit_the_graph_are_faults(segments: RematOptions, pointer: str, detail: str) -> None:
    with pytest.raises(DocumentError, match=detail) as caught:
        build(deep(4), {"n": 2}, training=True, recompute=segments)
    assert [finding.pointer for finding in caught.value.findings] == [pointer]
