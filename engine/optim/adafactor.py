"""Adafactor: the second moments of a matrix from those of its rows and columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.core.dtypes import computing_dtype
from engine.core.errors import AttributeValueError
from engine.core.value import Spec, Value
from engine.ops.elementwise import clamp, maximum, minimum, power, rsqrt, sqrt, square
from engine.ops.reduce import mean
from engine.optim.transform import COUNT, Slots, Stepped, Transform, counted, nonnegative, shrunk


@dataclass(frozen=True, kw_only=True)
class Adafactor(Transform):
    """Adaptive steps in sublinear memory (Shazeer and Stern 2018), semantics of torch.optim.Adafactor.

    The last two axes are factored; vectors keep a whole second moment. The rate is min(lr, 1 / sqrt(t)) times the root
    mean square of the parameter, which counts as eps[1] at least; a step whose root mean square exceeds `d` is scaled
    down to it. eps[0] bounds second moments below, by default the resolution of the dtype; weight decay is decoupled.
    """

    kind: ClassVar[str] = "adafactor"
    elementwise: ClassVar[bool] = False
    lr: float = 1e-2
    beta2_decay: float = -0.8
    eps: tuple[float | None, float] = (None, 1e-3)
    d: float = 1.0
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "eps[0]": self.eps[0] or 0.0, "eps[1]": self.eps[1]})
        nonnegative({"weight_decay": self.weight_decay})
        if not self.beta2_decay <= 0:
            raise AttributeValueError(f"beta2_decay must be at most 0, not {self.beta2_decay}")
        if not self.d >= 1:
            raise AttributeValueError(f"d must be at least 1, not {self.d}")

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The second moments of rows and columns, or of all elements, and the step count."""
        shape = parameter.shape
        if len(shape) < 2:
            return {"step": COUNT, "moment2": parameter}
        rows, columns = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
        return {"step": COUNT, "rows": Spec(rows, parameter.dtype), "columns": Spec(columns, parameter.dtype)}

    def step(self, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the gradient divided by the root of what the factors say of its square."""
        least = self.eps[0]
        if least is None:
            least = float(np.finfo(computing_dtype(parameter.dtype)).eps)
        step, count = counted(slots)
        weight = power(count, self.beta2_decay)
        rate = minimum(1.0 / sqrt(count), lr) * maximum(_size(parameter), self.eps[1])
        squares, changed = square(gradient), {"step": step}
        if len(parameter.shape) < 2:
            moment2 = changed["moment2"] = _towards(slots["moment2"], squares, weight)
        else:
            rows = changed["rows"] = _towards(slots["rows"], mean(squares, axis=-1, keepdims=True), weight)
            columns = changed["columns"] = _towards(slots["columns"], mean(squares, axis=-2, keepdims=True), weight)
            moment2 = rows * columns / clamp(mean(rows, axis=-2, keepdims=True), min=least)
        direction = gradient * rsqrt(clamp(moment2, min=max(least * least, math.ulp(0.0))))
        excess = maximum(_size(direction) * (1.0 / self.d), 1.0)
        return shrunk(parameter, lr, self.weight_decay) - direction * (rate / excess), changed


def _size(x: Value) -> Value:
    """Return the root mean square of the elements."""
    return sqrt(mean(square(x)))


def _towards(kept: Value, fresh: Value, weight: Value) -> Value:
    return kept + (fresh - kept) * weight
