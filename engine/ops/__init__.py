"""The op catalogue: importing it declares every family; each op is an attribute of this package by its name."""

from typing import Any

from engine.ops import (
    activation,
    arrangement,
    casting,
    channel_norm,
    class_rows,
    classification,
    compare,
    conv,
    conv_primitives,
    creation,
    diagonals,
    elementwise,
    error_function,
    gated,
    index,
    linalg,
    loss,
    normalization,
    padding,
    pool,
    pooling,
    probability,
    random,
    reduce,
    shape,
    sliding,
    strided,
    tiling,
    triangle,
)
from engine.ops.methods import bind_methods
from engine.registry import OPS

FAMILIES = (
    elementwise,
    compare,
    casting,
    reduce,
    shape,
    creation,
    tiling,
    arrangement,
    padding,
    triangle,
    diagonals,
    strided,
    sliding,
    index,
    linalg,
    conv_primitives,
    conv,
    pooling,
    pool,
    activation,
    error_function,
    gated,
    probability,
    random,
    normalization,
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
