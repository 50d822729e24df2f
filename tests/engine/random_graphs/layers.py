"""Random stacks of layers with a loss, as programs of the nodes that they become."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import engine
from engine.core.errors import DocumentError
from engine.core.value import Array, Shape
from engine.graph.definition import Definition
from engine.nn.initializers import initialize
from engine.nn.layers.activation import PLAIN
from engine.training.train_state import at_precision
from tests.engine.random_graphs.program import DESCEND, Program

Document = dict[str, Any]
Draw = random.Random

BATCHES = (4, 8, 16, 32, 64, 128)
MOST_LAYERS = 5
CLASSES = 5


def _dense(d: Draw) -> Document:
    activation = d.choice(("none", "relu", "tanh", "sigmoid", "gelu", "silu"))
    return {"layer": "linear", "units": d.choice((4, 16, 64, 130)), "bias": d.random() < 0.8, "activation": activation}


def _recurrent(d: Draw) -> Document:
    options: Document = {
        "units": d.choice((3, 8, 32)),
        "layers": d.choice((1, 1, 2)),
        "bidirectional": d.random() < 0.3,
    }
    return {"layer": d.choice(("rnn", "lstm", "gru")), "result": d.choice(("sequence", "last")), **options}


def _attention(d: Draw) -> Document:
    common = {"heads": d.choice((1, 2, 4)), "causal": d.random() < 0.5, "dropout": d.choice((0.0, 0.1))}
    if d.random() < 0.5:
        return {"layer": "multi_head_attention", **common}
    return {"layer": "transformer_encoder_layer", "width": 24, "norm_first": d.random() < 0.5, **common}


def _convolution(rank: int) -> Callable[[Draw], Document]:
    def make(d: Draw) -> Document:
        options: Document = {
            "channels": d.choice((2, 4, 8)),
            "kernel": d.choice((1, 2, 3)),
            "stride": d.choice((1, 1, 2)),
        }
        if d.random() < 0.2:
            return {"layer": f"conv_transpose{rank}d", **options, "groups": d.choice((1, 2))}
        return {"layer": f"conv{rank}d", **options, "padding": d.choice((0, 1)), "groups": d.choice((1, 1, 2))}

    return make


def _pool(rank: int) -> Callable[[Draw], Document]:
    def make(d: Draw) -> Document:
        kind = d.choice(("max", "avg", "lp", "adaptive_max", "adaptive_avg"))
        if kind.startswith("adaptive"):
            return {"layer": f"{kind}_pool{rank}d", "output_size": d.choice((2, 3))}
        return {"layer": f"{kind}_pool{rank}d", "kernel": d.choice((2, 3)), "stride": d.choice((1, 2))}

    return make


def _pad(rank: int) -> Callable[[Draw], Document]:
    kinds = ("zero", "reflection", "replication", "circular")
    return lambda d: {"layer": f"{d.choice(kinds)}_pad{rank}d", "padding": 1}


def _norm(*kinds: str) -> Callable[[Draw], Document]:
    options: Mapping[str, Document] = {"group_norm": {"groups": 2}, "local_response_norm": {"size": 3}}
    tracked = {"instance_norm": {"track_running_stats": True, "affine": True}}

    def make(d: Draw) -> Document:
        kind = d.choice(kinds)
        return {"layer": kind, **options.get(kind, {}), **(tracked.get(kind, {}) if d.random() < 0.5 else {})}

    return make


def _activation(d: Draw) -> Document:
    kind = d.choice((*PLAIN, "prelu", "glu", "swiglu", "geglu", "reglu", "celu", "elu", "leaky_relu", "softplus"))
    return {"layer": kind}


def _dropout(d: Draw) -> Document:
    return {"layer": d.choice(("dropout", "alpha_dropout", "feature_dropout")), "p": d.choice((0.1, 0.5))}


def _nested(d: Draw) -> Document:
    inner = [_dense(d), *([_activation(d)] if d.random() < 0.5 else [])]
    kind = d.choice(("residual", "parallel", "sequential"))
    return {"layer": kind, "layers": inner, **({"projection": "linear"} if kind == "residual" else {})}


def _plain(*kinds: str) -> Callable[[Draw], Document]:
    return lambda d: {"layer": d.choice(kinds)}


SHAPES: Mapping[str, tuple[tuple[int, ...], ...]] = MappingProxyType(
    {
        "flat": ((6,), (64,), (130,)),
        "steps": ((4, 8), (12, 16)),
        "image": ((2, 8, 8), (3, 14, 14)),
        "tokens": ((6,), (11,)),
    }
)
LAYERS: Mapping[str, tuple[Callable[[Draw], Document], ...]] = MappingProxyType(
    {
        "flat": (_dense, _dense, _norm("batch_norm", "layer_norm", "rms_norm"), _activation, _dropout, _nested),
        "steps": (
            _recurrent, _attention, _dense, _convolution(1), _pool(1), _pad(1),
            _norm("layer_norm", "rms_norm", "batch_norm", "group_norm"),
            _plain("sinusoidal_positions", "learned_positions", "rotary_positions"), _activation,
            _dropout,
        ),
        "image": (
            _convolution(2), _convolution(2), _pool(2), _pad(2), _activation, _dropout,
            _norm("batch_norm", "group_norm", "instance_norm", "local_response_norm"),
            lambda d: {"layer": "upsample", "scale": 2.0, "mode": d.choice(("nearest", "bilinear"))},
        ),
        "tokens": (_recurrent, _attention, _dense, _norm("layer_norm")),
    }
)  # fmt: skip
"""By the sort of input what may stand in a stack."""

NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "poisson_nll_loss", "focal_loss")
LABELS = ("cross_entropy", "multi_margin_loss", "nll_loss")


def random_layers(seed: object) -> Program:
    """Make the stack of a seed, its first weights and its data."""
    draw = random.Random(f"layers {seed}")
    definition = at_precision(random_stack(draw), draw.choice(("float32", "float32", "float64")))
    batch = draw.choice(BATCHES)
    generator = np.random.default_rng(draw.getrandbits(64))
    inputs = {n: _column(generator, (batch, *s.shape[1:]), s.dtype) for n, s in definition.inputs.items()}
    states = {
        name: initialize(spec.init, name, spec.shape, spec.dtype, 1)
        for name, spec in (*definition.parameters.items(), *definition.buffers.items())
    }
    return Program(
        inputs,
        {name: states[name] for name in definition.parameters},
        {**{name: states[name] for name in definition.buffers}, **definition.constants},
        definition.nodes,
        definition.outputs if draw.random() < 0.3 else (),
        definition.losses,
        {name: DESCEND for name in definition.parameters if draw.random() < 0.3},
    )


def random_stack(draw: Draw) -> Definition:
    """Return the graph of a stack."""
    return engine.parse_graph(random_document(draw))


def random_document(draw: Draw) -> Document:
    """Return a stack as a client writes it; layers that do not fit what comes before them are left out."""
    sort = draw.choice(tuple(SHAPES))
    shape: list[int | str] = ["batch", *draw.choice(SHAPES[sort])]
    layers = [draw.choice(LAYERS[sort])(draw) for _ in range(draw.randint(1, MOST_LAYERS))]
    if sort == "tokens":
        layers.insert(0, {"layer": "embedding", "rows": 20, "units": draw.choice((4, 12))})
    classes = draw.random() < 0.5
    target: Document = {
        "shape": ["batch"] if classes else ["batch", CLASSES],
        "dtype": "int64" if classes else "float32",
    }
    document = {
        "inputs": {"x": {"shape": shape, "dtype": "int64" if sort == "tokens" else "float32"}, "target": target},
        "loss": {"kind": draw.choice(LABELS if classes else NUMBERS), "target": "target"},
    }
    while True:
        ending = ["flatten", {"layer": "linear", "units": CLASSES}]
        try:
            engine.parse_graph({**document, "layers": [*layers, *ending]})
            return {**document, "layers": [*layers, *ending]}
        except DocumentError as error:
            place = error.findings[0].pointer.split("/")[2:3]
            if not (place and place[0].isdigit() and int(place[0]) < len(layers)):
                raise
            del layers[int(place[0])]


def _column(generator: np.random.Generator, shape: Shape, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "i":
        return generator.integers(0, CLASSES, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)
