"""LARS, LAMB, Adafactor and Muon: the step of a parameter depends on its norm, its shape or its matrix structure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from engine.core.attributes import NonNegative, Range, Rate
from engine.core.dtypes import computing_dtype
from engine.core.errors import ShapeError
from engine.core.value import Spec, Value
from engine.ops.elementwise.elementwise import clamp, maximum, minimum, power, rsqrt, sqrt, square
from engine.ops.linalg.matmul import matmul
from engine.ops.optimizer.updates import running_mean
from engine.ops.reduce.reduce import mean, sum
from engine.ops.shape.shape import t
from engine.optim.adam import Moments
from engine.optim.fusion import decay_link
from engine.optim.optimizer import Transform
from engine.optim.transforms.adam import ScaleByAdam
from engine.optim.transforms.link import (
    COUNT,
    Advanced,
    Direction,
    Link,
    Slots,
    count_step,
    l2_norm,
    ratio_or_one,
    root_mean_square,
)
from engine.optim.transforms.momentum import MomentumBuffer

MAX_NS_STEPS = 99


class WholeLink(Link):
    """A link that depends on the shape of a parameter, or on all its elements together."""

    @property
    def elementwise(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class LARS(Transform):
    """Momentum with a rate for each parameter (You, Gitman and Ginsburg 2017), for large batches.

    The rate is lr * trust_coefficient * |p| / (|g| + weight_decay * |p|) for a parameter p with gradient g, and lr
    where one of both is 0; weight decay is added to the gradient, and the rate is part of the momentum.
    """

    kind: ClassVar[str] = "lars"
    momentum_option: ClassVar[Literal["momentum", "betas"] | None] = "momentum"
    momentum: NonNegative = 0.9
    weight_decay: NonNegative = 1e-4
    trust_coefficient: NonNegative = 1e-3

    def links(self, momentum: float) -> tuple[Link, ...]:
        lars = LARSLink(options=self)
        return (lars, MomentumBuffer(decay=momentum)) if self.momentum else (lars,)


@dataclass(frozen=True, kw_only=True)
class LARSLink(WholeLink):
    """The gradient with weight decay, times a rate in proportion to the norm of the parameter over its own."""

    options: LARS

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        decay, trust = self.options.weight_decay, self.options.trust_coefficient
        size, slope = l2_norm(direction.parameter), l2_norm(direction.update)
        ratio = ratio_or_one(size * trust, slope + size * decay, smaller=minimum(size, slope))
        decayed, _ = decay_link(decay, decoupled=False).advance(direction, {})
        return decayed._replace(update=decayed.update * (direction.lr * ratio), rate=None), {}


@dataclass(frozen=True, kw_only=True)
class LAMB(Moments):
    """Adam with a rate for each parameter (You et al. 2020), for large batches.

    With the bias-corrected direction u of Adam, to which weight_decay * p is added, the rate is lr * |p| / |u|, and lr
    where one of both is 0.
    """

    kind: ClassVar[str] = "lamb"
    eps: NonNegative = 1e-6

    def links(self, momentum: float) -> tuple[Link, ...]:
        adam = ScaleByAdam(b1=momentum, b2=self.betas[1], eps=self.eps)
        return adam, decay_link(self.weight_decay, decoupled=False), TrustRate()


@dataclass(frozen=True, kw_only=True)
class TrustRate(WholeLink):
    """The rate times the norm of the parameter over that of its update."""

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        size, length = l2_norm(direction.parameter), l2_norm(direction.update)
        return direction._replace(rate=direction.lr * ratio_or_one(size, length, smaller=minimum(size, length))), {}


@dataclass(frozen=True, kw_only=True)
class Adafactor(Transform):
    """Adaptive steps in sublinear memory (Shazeer and Stern 2018), semantics of torch.optim.Adafactor.

    The last two axes are factored; vectors keep a whole second moment. The rate is min(lr, 1 / sqrt(t)) times the root
    mean square of the parameter, which counts as eps[1] at least; a step whose root mean square exceeds `d` is scaled
    down to it. eps[0] bounds second moments below, by default the resolution of the dtype; weight decay is decoupled.
    """

    kind: ClassVar[str] = "adafactor"
    lr: Rate = 1e-2
    beta2_decay: Annotated[float, Range(-math.inf, 0)] = -0.8
    eps: Annotated[tuple[float | None, float], Range(0)] = (None, 1e-3)
    d: Annotated[float, Range(1)] = 1.0
    weight_decay: NonNegative = 0.0

    def links(self, momentum: float) -> tuple[Link, ...]:
        return AdafactorLink(options=self), decay_link(self.weight_decay, decoupled=True)


@dataclass(frozen=True, kw_only=True)
class AdafactorLink(WholeLink):
    """The gradient over the root of second moments that are kept as row and column means."""

    options: Adafactor

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        shape = parameter.shape
        if len(shape) < 2:
            return {"step": COUNT, "moment2": parameter}
        rows, columns = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
        return {"step": COUNT, "rows": Spec(rows, parameter.dtype), "columns": Spec(columns, parameter.dtype)}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        gradient, parameter, lr = direction.update, direction.parameter, direction.lr
        options = self.options
        least = options.eps[0]
        if least is None:
            least = float(np.finfo(computing_dtype(parameter.dtype)).eps)
        step, count = count_step(slots)
        weight = power(count, options.beta2_decay)
        rate = minimum(1.0 / sqrt(count), lr) * maximum(root_mean_square(parameter), options.eps[1])
        squares, changed = square(gradient), {"step": step}
        if len(parameter.shape) < 2:
            moment2 = changed["moment2"] = _towards(slots["moment2"], squares, weight)
        else:
            rows = changed["rows"] = _towards(slots["rows"], mean(squares, axis=-1, keepdims=True), weight)
            columns = changed["columns"] = _towards(slots["columns"], mean(squares, axis=-2, keepdims=True), weight)
            moment2 = rows * columns / clamp(mean(rows, axis=-2, keepdims=True), min=least)
        update = gradient * rsqrt(clamp(moment2, min=max(least * least, math.ulp(0.0))))
        excess = maximum(root_mean_square(update) * (1.0 / options.d), 1.0)
        return direction._replace(update=update, rate=rate / excess), changed


def _towards(kept: Value, fresh: Value, weight: Value) -> Value:
    return kept + (fresh - kept) * weight


@dataclass(frozen=True, kw_only=True)
class Muon(Transform):
    """Momentum orthogonalised by Newton-Schulz steps (Jordan et al. 2024), as torch.optim.Muon; matrices only.

    The iteration runs in the dtype of the parameter, where torch rounds to bfloat16. `adjust_lr_fn` scales the rate of
    a matrix of A rows and B columns: "original" by sqrt(max(1, A / B)), "match_rms_adamw" by 0.2 * sqrt(max(A, B)).
    """

    kind: ClassVar[str] = "muon"
    momentum_option: ClassVar[Literal["momentum", "betas"] | None] = "momentum"
    weight_decay: NonNegative = 0.1
    momentum: NonNegative = 0.95
    nesterov: bool = True
    ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315)
    eps: NonNegative = 1e-7
    ns_steps: Annotated[int, Range(0, MAX_NS_STEPS)] = 5
    adjust_lr_fn: Literal["original", "match_rms_adamw"] = "original"

    def links(self, momentum: float) -> tuple[Link, ...]:
        return MuonLink(momentum=momentum, options=self), decay_link(self.weight_decay, decoupled=True)


@dataclass(frozen=True, kw_only=True)
class MuonLink(WholeLink):
    """The nearly orthogonal factor of the momentum, by Newton-Schulz iterations."""

    momentum: float
    options: Muon

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """The momentum buffer.

        Raises:
            ShapeError: the parameter is no matrix.
        """
        if len(parameter.shape) != 2:
            raise ShapeError(
                f"muon steps matrices only, not a parameter of shape {list(parameter.shape)}; freeze it, or step it by "
                "another optimizer"
            )
        return {"momentum": parameter}

    def advance(self, direction: Direction, slots: Slots) -> Advanced:
        gradient = direction.update
        buffer = running_mean(slots["momentum"], gradient, self.momentum)
        ahead = running_mean(buffer, gradient, self.momentum) if self.options.nesterov else buffer
        rate = direction.lr * self._adjustment(*direction.parameter.shape)
        return direction._replace(update=self._orthogonal(ahead), rate=rate), {"momentum": buffer}

    def _orthogonal(self, matrix: Value) -> Value:
        """Return the matrix with singular values near 1: iterations x -> a x + (b g + c g g) x, where g = x x'."""
        a, b, c = self.options.ns_coefficients
        tall = matrix.shape[0] > matrix.shape[1]
        x = t(matrix) if tall else matrix
        x = x / clamp(sqrt(sum(square(x))), min=self.options.eps)
        for _ in range(self.options.ns_steps):
            gram = matmul(x, t(x))
            x = x * a + matmul(gram * b + matmul(gram, gram) * c, x)
        return t(x) if tall else x

    def _adjustment(self, rows: int, columns: int) -> float:
        if self.options.adjust_lr_fn == "match_rms_adamw":
            return 0.2 * math.sqrt(max(rows, columns))
        return math.sqrt(max(1.0, rows / columns)) if columns else 1.0
