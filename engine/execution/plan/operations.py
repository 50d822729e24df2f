"""Estimated arithmetic operations of a step, from the shapes of its operands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from engine.core.value import Shape


def operations(op: str, attrs: Mapping[str, Any], inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """Count products and sums of what multiplies matrices; elsewhere one operation for each element."""
    if op == "matrix_product":
        return 2 * math.prod(outputs[0]) * inputs[0][-2 if attrs["transpose_a"] else -1]
    if op == "convolution":
        return 2 * math.prod(outputs[0]) * math.prod(inputs[1][1:])
    if op == "convolution_input":
        return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:])
    if op == "convolution_weight":
        return 2 * math.prod(inputs[1]) * math.prod(outputs[0][1:])
    return max(math.prod(shape) for shape in (*outputs, *inputs))
