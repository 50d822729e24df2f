"""Ops of the elements at one place: arithmetic, comparisons, casts, rounding, special functions."""

from engine.ops.elementwise import (
    bits,
    casting,
    comparison,
    elementwise,
    error_function,
    hyperbolic,
    limits,
    rounding,
    special,
)
