"""Number formats that a fit computes in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from engine.core.constraints import Range
from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType

Precision = Literal["float32", "float64", "mixed_float16", "mixed_bfloat16"]
Activations = Literal["float16", "bfloat16"] | None


def master_dtype(precision: Precision) -> DType:
    """Return the type that parameters, optimizer state and running statistics are kept in."""
    return FLOAT64 if precision == "float64" else FLOAT32


def low_dtype(precision: Precision) -> DType | None:
    """Return the type that matrix products and the like run in where it is another one."""
    return {"mixed_float16": FLOAT16, "mixed_bfloat16": BFLOAT16}.get(precision)


def waiting_dtype(activations: Activations) -> DType | None:
    """Return the type that values wait in between the forward and the backward pass where it is not their own."""
    return None if activations is None else {"float16": FLOAT16, "bfloat16": BFLOAT16}[activations]


@dataclass(frozen=True, kw_only=True)
class LossScaling:
    """Dynamic scaling of the loss under "mixed_float16", semantics and defaults of torch.amp.GradScaler.

    A step whose gradients are not finite is skipped, and the scale multiplied by `backoff_factor`; after
    `growth_interval` good steps in a row it is multiplied by `growth_factor`.
    """

    initial: Annotated[float, Range(0, above=True)] = 2.0**16
    growth_factor: Annotated[float, Range(1, above=True)] = 2.0
    backoff_factor: Annotated[float, Range(0, 1, above=True, below=True)] = 0.5
    growth_interval: Annotated[int, Range(1)] = 2000
