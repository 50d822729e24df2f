"""Tables whose rows are kept short: those that are looked up are limited in length first."""

from __future__ import annotations

import numpy as np

from engine.core.batching import each
from engine.core.declarations import Documentation, Memory, Numerics
from engine.core.dtypes import computing_dtype
from engine.core.errors import AttributeValueError
from engine.core.registry import primitive
from engine.core.samples import integers, sample
from engine.core.shape_rules import require_float, require_integer, require_rank
from engine.core.value import Array, Spec, Value
from engine.ops.index import check_range

GUARD = 1e-7
"""Added to the length that a row is divided by, as in PyTorch."""


def _limit_rows(weight: Value, index: Value, *, max_norm: float, norm_type: float) -> Spec:
    require_float("limit_rows", weight)
    require_rank("limit_rows", "a table", weight, 2)
    require_integer("limit_rows", "indices", index)
    if not max_norm >= 0 or not norm_type > 0:
        raise AttributeValueError(
            f"limit_rows: max_norm {max_norm} must be at least 0, and norm_type {norm_type} greater than 0"
        )
    return weight.spec


@primitive(
    shape_rule=_limit_rows,
    numerics=Numerics(autocast="float32"),
    memory=Memory(state_updates={0: 0}),
    documentation=Documentation(
        gradient_notes={"max_norm": "the gradient passes as if nothing had been limited, as in PyTorch"}
    ),
    samples=[
        sample((5, 3), integers(0, 5, 4), max_norm=1.0),
        sample((5, 3), integers(-5, 5, 2, 2), max_norm=0.5, norm_type=1.0),
    ],
)
def limit_rows(
    weight: Array, index: Array, *, max_norm: float, norm_type: float = 2.0, out: Array | None = None
) -> Array:
    """The table `weight` [rows, width] with the rows that `index` looks up brought to the length max_norm if longer.

    The length is the p-norm of order `norm_type`, which may be infinite. In training the parameter itself becomes the
    result, as with max_norm of torch.nn.Embedding.
    """
    check_range("limit_rows", index, weight.shape[0])
    limited = weight.copy() if out is None else out
    limited[...] = weight
    rows = np.unique(index.reshape(-1) % max(weight.shape[0], 1))
    looked_up = weight[rows].astype(computing_dtype(weight.dtype), copy=False)
    lengths = np.linalg.norm(looked_up, ord=norm_type, axis=1, keepdims=True)
    factors = np.where(lengths > max_norm, max_norm / (lengths + GUARD), 1).astype(looked_up.dtype)
    limited[rows] = looked_up * factors
    return limited


limit_rows.batch(each)


@limit_rows.vjp
def _(g: Value, y: Value, weight: Value, index: Value) -> object:
    return g, None
