"""The op catalogue: importing it declares every family; each op is an attribute of this package by its name."""

from typing import Any

from engine.core.errors import nearest
from engine.core.registry import ALIASES, OPS, find_op
from engine.ops import (
    activation,
    arrange,
    augmentation,
    conv,
    elementwise,
    ggml,
    index,
    linalg,
    loss,
    math,
    normalization,
    optimizer,
    random,
    recurrent,
    reduce,
    shape,
    transformer,
)
from engine.ops.methods.in_place import bind_in_place
from engine.ops.methods.operators import bind_methods
from engine.ops.methods.value_methods import bind_value_methods

bind_methods()
bind_in_place()
bind_value_methods()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):  # asked by protocols of Python and its tools, which expect it to be missing
        raise AttributeError(f"there is no op called {name!r}")
    op = find_op(name)
    if op is None:
        raise AttributeError(f"there is no op called {name!r}{nearest(name, [*OPS, *ALIASES])}")
    return op


def __dir__() -> list[str]:
    return sorted({*globals(), *OPS, *ALIASES})
