"""The table of layers: each is a function of its scope, its input and typed attributes, in PyTorch's names."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Literal

from engine.attributes import Window, attributes_of
from engine.errors import AttributeValueError, ShapeError, UnknownName, nearest
from engine.layers.scope import Scope
from engine.value import Value

Layer = Callable[..., Value]
Activation = Literal[
    "relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "none"
]

LAYERS: dict[str, Layer] = {}
"""Every layer by its kind."""


def layer(build: Layer) -> Layer:
    """Enter a layer into the table under its function's name."""
    LAYERS[build.__name__] = build
    return build


def find_layer(kind: str) -> Layer:
    """Return the layer called `kind`."""
    if kind not in LAYERS:
        raise UnknownName(f"there is no layer called {kind[:64]!r}{nearest(kind, LAYERS)}")
    return LAYERS[kind]


def layer_catalogue() -> list[dict[str, Any]]:
    """Describe every layer for a client: kind, documentation, attributes."""
    return [
        {
            "kind": kind,
            "doc": inspect.getdoc(build) or "",
            "attrs": [attribute.to_json() for attribute in attributes_of(build)],
        }
        for kind, build in LAYERS.items()
    ]


def activate(scope: Scope, x: Value, activation: Activation) -> Value:
    """Apply an activation by name; "none" leaves the value as it is."""
    return x if activation == "none" else scope.apply(activation, x, name=activation)


def _affine_init(fan_in: int) -> dict[str, Any]:
    """Return PyTorch's start of a bias: uniform within 1 / sqrt(fan in)."""
    bound = 1 / math.sqrt(max(fan_in, 1))
    return {"kind": "uniform", "low": -bound, "high": bound}


@layer
def linear(
    scope: Scope,
    x: Value,
    *,
    units: int,
    bias: bool = True,
    activation: Activation = "none",
    start: Literal["torch", "glorot"] = "torch",
) -> Value:
    """x @ weight.T + bias on the last axis, with weight [units, in].

    It starts as torch.nn.Linear, or with start "glorot" as ggmlR and Keras: the weight uniform within
    sqrt(6 / (in + units)) (Glorot and Bengio 2010), the bias 0.
    """
    if not x.ndim or units < 1:
        raise ShapeError(
            f"linear needs units >= 1 and an input with at least one axis, got {units} and {list(x.shape)}"
        )
    fan_in = x.shape[-1]
    if start == "glorot":
        weight_init: dict[str, Any] = {"kind": "xavier_uniform"}
        bias_init: dict[str, Any] = {"kind": "zeros"}
    else:
        weight_init, bias_init = {"kind": "kaiming_uniform", "a": math.sqrt(5)}, _affine_init(fan_in)
    weight = scope.parameter("weight", (units, fan_in), **weight_init)
    inputs = [x, weight] + ([scope.parameter("bias", (units,), **bias_init)] if bias else [])
    return activate(scope, scope.apply("linear", *inputs), activation)


def _convolution(rank: int) -> Layer:
    def build(
        scope: Scope,
        x: Value,
        *,
        channels: int,
        kernel: Window,
        stride: Window = 1,
        padding: Window | Literal["same", "valid"] = 0,
        dilation: Window = 1,
        groups: int = 1,
        bias: bool = True,
        activation: Activation = "none",
    ) -> Value:
        if x.ndim != rank + 2:
            raise ShapeError(f"conv{rank}d needs an input [batch, channels, {rank} more], got shape {list(x.shape)}")
        if groups < 1 or channels < 1 or x.shape[1] % groups or channels % groups:
            raise ShapeError(f"conv{rank}d: groups {groups} must divide the channels {x.shape[1]} and {channels}")
        window = (kernel,) * rank if isinstance(kernel, int) else kernel
        shape = (channels, x.shape[1] // groups, *window)
        fan_in = math.prod(shape[1:])
        weight = scope.parameter("weight", shape, kind="kaiming_uniform", a=math.sqrt(5))
        inputs = [x, weight] + ([scope.parameter("bias", (channels,), **_affine_init(fan_in))] if bias else [])
        y = scope.apply(f"conv{rank}d", *inputs, stride=stride, padding=padding, dilation=dilation, groups=groups)
        return activate(scope, y, activation)

    build.__name__ = f"conv{rank}d"
    build.__doc__ = (
        f"Convolution over {rank} spatial {'axis' if rank == 1 else 'axes'} of [batch, channels, ...], "
        f"with weight [channels, in / groups, kernel...]; starts as torch.nn.Conv{rank}d."
    )
    return layer(build)


conv1d, conv2d, conv3d = (_convolution(rank) for rank in (1, 2, 3))


@layer
def embedding(scope: Scope, x: Value, *, rows: int, units: int, padding_idx: int | None = None) -> Value:
    """Rows of a table [rows, units] picked by integer inputs; starts standard normal."""
    weight = scope.parameter("weight", (rows, units), kind="normal")
    return scope.apply("embedding", weight, x, padding_idx=padding_idx)


@layer
def batch_norm(scope: Scope, x: Value, *, eps: float = 1e-5, momentum: float = 0.1) -> Value:
    """Normalise each channel (axis 1) over the batch, then scale and shift; keeps running statistics for evaluation."""
    if x.ndim < 2:
        raise ShapeError(f"batch_norm needs an input [batch, channels, ...], got shape {list(x.shape)}")
    channels = (x.shape[1],)
    inputs = (
        scope.parameter("weight", channels, kind="ones"),
        scope.parameter("bias", channels, kind="zeros"),
        scope.buffer("running_mean", channels),
        scope.buffer("running_var", channels, kind="ones"),
    )
    return scope.apply("batch_norm", x, *inputs, eps=eps, momentum=momentum)


@layer
def layer_norm(scope: Scope, x: Value, *, axes: int = 1, eps: float = 1e-5) -> Value:
    """Normalise over the last `axes` axes, then scale and shift."""
    shape = x.shape[x.ndim - axes :]
    if not 0 < axes <= x.ndim:
        raise ShapeError(f"layer_norm: axes {axes} must lie between 1 and {x.ndim}")
    weight, bias = scope.parameter("weight", shape, kind="ones"), scope.parameter("bias", shape, kind="zeros")
    return scope.apply("layer_norm", x, weight, bias, eps=eps)


@layer
def multi_head_attention(
    scope: Scope, x: Value, *, heads: int, causal: bool = False, bias: bool = True, dropout: float = 0.0
) -> Value:
    """Self-attention of `heads` heads over [rows, steps, width]; starts as torch.nn.MultiheadAttention.

    `causal` lets a step see those up to it. In training a share `dropout` of the attention weights is dropped.
    """
    if x.ndim != 3:
        raise ShapeError(f"multi_head_attention needs an input [rows, steps, width], got shape {list(x.shape)}")
    width = x.shape[-1]
    weights = (
        scope.parameter("in_proj_weight", (3 * width, width), kind="xavier_uniform"),
        scope.parameter("out_proj.weight", (width, width), kind="kaiming_uniform", a=math.sqrt(5)),
    )
    biases = (
        (
            scope.parameter("in_proj_bias", (3 * width,), kind="zeros"),
            scope.parameter("out_proj.bias", (width,), kind="zeros"),
        )
        if bias
        else ()
    )
    return scope.apply("multi_head_attention", x, x, x, *weights, *biases, heads=heads, causal=causal, dropout=dropout)


@layer
def dropout(scope: Scope, x: Value, *, p: float = 0.5) -> Value:
    """Zero each element with probability p in training and scale the rest by 1 / (1 - p); evaluation leaves x alone."""
    if not 0 <= p < 1:
        raise AttributeValueError(f"dropout: the share p {p} must be at least 0 and less than 1, or nothing is left")
    return scope.apply("dropout", x, p=p)


@layer
def flatten(scope: Scope, x: Value, *, start: int = 1, end: int = -1) -> Value:
    """Join the axes from `start` to `end` into one."""
    return scope.apply("flatten", x, start=start, end=end)


@layer
def reshape(scope: Scope, x: Value, *, shape: tuple[int, ...]) -> Value:
    """Give each row (everything but the first axis) another shape."""
    return scope.apply("reshape", x, shape=(-1, *shape))


def _pooling(op: str, doc: str) -> Layer:
    def build(
        scope: Scope,
        x: Value,
        *,
        kernel: Window,
        stride: Window | None = None,
        padding: Window = 0,
        ceil_mode: bool = False,
    ) -> Value:
        return scope.apply(op, x, kernel=kernel, stride=stride, padding=padding, ceil_mode=ceil_mode)

    build.__name__ = op
    build.__doc__ = doc
    return layer(build)


for _rank in (1, 2, 3):
    _pooling(
        f"max_pool{_rank}d", f"Largest element of each window over {_rank} spatial axes; stride defaults to kernel."
    )
    _pooling(f"avg_pool{_rank}d", f"Mean of each window over {_rank} spatial axes; stride defaults to kernel.")


@layer
def global_avg_pool(scope: Scope, x: Value) -> Value:
    """Mean over every axis after the channels."""
    if x.ndim < 3:
        raise ShapeError(f"global_avg_pool needs an input [batch, channels, ...], got shape {list(x.shape)}")
    return scope.apply("mean", x, axis=tuple(range(2, x.ndim)))


def _activation(kind: str) -> Layer:
    def build(scope: Scope, x: Value) -> Value:
        return scope.apply(kind, x)

    build.__name__ = kind
    build.__doc__ = f"The activation {kind}, elementwise (softmax and log_softmax over the last axis)."
    return layer(build)


for _kind in ("relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu"):
    _activation(_kind)
