"""Activations: layers of their own, and an option of the layers before them."""

from __future__ import annotations

from typing import Literal, get_args

from engine.core.attributes import Length
from engine.core.errors import ShapeError
from engine.core.value import Value
from engine.nn.layers.table import Scope, layer, layer_of_op

Activation = Literal[
    "relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softmax", "log_softmax", "leaky_relu", "elu", "relu6",
    "celu", "selu", "mish", "softmin", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "hardtanh", "hardshrink",
    "softshrink", "tanhshrink", "rrelu", "none",
]  # fmt: skip

PLAIN = tuple(name for name in get_args(Activation) if name != "none")
"""Activations without options."""

for _name in (*PLAIN, "threshold", "glu", "geglu", "reglu", "swiglu"):
    layer_of_op(_name)


def activate(scope: Scope, x: Value, activation: Activation) -> Value:
    """Apply an activation by name; "none" returns the value unchanged."""
    return x if activation == "none" else scope.apply(activation, x, name=activation)


@layer
def prelu(scope: Scope, x: Value, *, channels: Length = 1, init: float = 0.25) -> Value:
    """x where x > 0, else weight x, with one learnable slope, or one per channel (axis 1; He et al. 2015).

    All slopes start as `init`; see torch.nn.PReLU, which calls `channels` num_parameters.
    """
    if channels != 1 and (x.ndim < 2 or x.shape[1] != channels):
        raise ShapeError(f"prelu: channels {channels} must be 1 or the extent of axis 1 of {list(x.shape)}")
    return scope.apply("prelu", x, scope.parameter("weight", (channels,), kind="constant", value=init))
