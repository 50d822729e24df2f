"""Dense layers: linear maps of one input and bilinear ones of two."""

from __future__ import annotations

import math
from typing import Any, Literal

from engine.core.attributes import Length
from engine.core.errors import ShapeError
from engine.core.value import Value
from engine.nn.layers.activation import Activation, activate
from engine.nn.layers.table import Scope, layer


def affine_start(fan_in: int) -> dict[str, Any]:
    """Return the default initialiser of a bias in PyTorch: uniform within 1 / sqrt(fan in)."""
    bound = 1 / math.sqrt(max(fan_in, 1))
    return {"kind": "uniform", "low": -bound, "high": bound}


@layer
def linear(
    scope: Scope,
    x: Value,
    *,
    units: Length,
    bias: bool = True,
    activation: Activation = "none",
    start: Literal["torch", "glorot"] = "torch",
) -> Value:
    """x @ weight.T + bias on the last axis, with weight [units, in].

    Initialised as torch.nn.Linear, or with start "glorot" as in ggmlR and Keras: the weight uniform within sqrt(6 / (in
    + units)) (Glorot and Bengio 2010), the bias 0.
    """
    if not x.ndim:
        raise ShapeError("linear needs an input with at least one axis, not a number")
    fan_in = x.shape[-1]
    if start == "glorot":
        weight_init: dict[str, Any] = {"kind": "xavier_uniform"}
        bias_init: dict[str, Any] = {"kind": "zeros"}
    else:
        weight_init, bias_init = {"kind": "kaiming_uniform", "a": math.sqrt(5)}, affine_start(fan_in)
    weight = scope.parameter("weight", (units, fan_in), **weight_init)
    inputs = [x, weight] + ([scope.parameter("bias", (units,), **bias_init)] if bias else [])
    return activate(scope, scope.apply("linear", *inputs), activation)


@layer
def bilinear(scope: Scope, x: Value, *, units: Length, other: str | None = None, bias: bool = True) -> Value:
    """x weight[k] other + bias[k] for each of the `units` k, with weight [units, in, in of other].

    `other` names an input of the model with the leading axes of x; by default x itself. Initialised as
    torch.nn.Bilinear.
    """
    second = x if other is None else scope.input(other)
    if not x.ndim or second.ndim != x.ndim:
        raise ShapeError(f"bilinear needs two inputs of as many axes, got {list(x.shape)} and {list(second.shape)}")
    start = affine_start(x.shape[-1])
    weight = scope.parameter("weight", (units, x.shape[-1], second.shape[-1]), **start)
    return scope.apply("bilinear", x, second, weight, *([scope.parameter("bias", (units,), **start)] if bias else []))
