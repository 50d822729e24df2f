"""The op catalogue: importing it declares every family; each op is an attribute of this package by its name."""

from typing import Any

from engine.ops import (
    activation,
    cast,
    channel_norm,
    class_rows,
    classification,
    compare,
    conv,
    convolution,
    elementwise,
    error_function,
    gated,
    index,
    linalg,
    loss,
    norm,
    pool,
    pooling,
    probability,
    random,
    reduce,
    shape,
)
from engine.ops.methods import bind_methods
from engine.registry import OPS

FAMILIES = (
    elementwise,
    compare,
    cast,
    reduce,
    shape,
    index,
    linalg,
    convolution,
    conv,
    pooling,
    pool,
    activation,
    error_function,
    gated,
    probability,
    random,
    norm,
    channel_norm,
    loss,
    class_rows,
    classification,
)

bind_methods()


def __getattr__(name: str) -> Any:
    try:
        return OPS[name]
    except KeyError:
        raise AttributeError(f"there is no op called {name!r}") from None
