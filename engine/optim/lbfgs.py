"""L-BFGS: a quasi-Newton method that evaluates the loss several times in a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from engine.core.attributes import Range
from engine.core.dtypes import FLOAT64, INT64
from engine.core.value import Array, Spec
from engine.optim.line_search import Trial, strong_wolfe
from engine.optim.optimizer import Optimizer
from engine.optim.transforms.link import COUNT

Evaluate = Callable[[Array], tuple[float, Array]]
"""Returns the loss and its gradient at a vector; the gradient may be the same array each time."""

Stopped = Literal["max_iter", "max_eval", "gradient", "slope", "step", "loss", "nonfinite"]


@dataclass(frozen=True, slots=True)
class LBFGSStep:
    """The result of a step.

    Attributes:
        loss: at the start.
        last_loss: the latest known, which without a line search is that before the last move.
        iterations: the number of directions.
        evaluations: the number of evaluations of the loss, including the first.
        stopped: the reason of the end: the limit of iterations or of evaluations; a small gradient, slope, move, or
            change of the loss; or a loss, gradient or direction that is not finite.
    """

    loss: float
    last_loss: float
    iterations: int
    evaluations: int
    stopped: Stopped


@dataclass(frozen=True, kw_only=True)
class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal 1989), semantics of torch.optim.LBFGS; for whole-batch gradients.

    A step makes up to max_iter moves and about max_eval evaluations of the loss (by default max_iter * 5 // 4). It ends
    early when no element of the gradient exceeds tolerance_grad, or when loss or parameters change by less than
    tolerance_change. The curvature is that of the last history_size moves. The length of a move is lr, or the result of
    a line search with the strong Wolfe conditions that starts at lr.

    Unlike torch, a move to a loss that is not finite is undone, and ends the step.
    """

    kind: ClassVar[str] = "lbfgs"
    lr: Annotated[float, Range(0)] = 1.0
    max_iter: Annotated[int, Range(1, 10**6)] = 20
    max_eval: Annotated[int | None, Range(1, 10**6)] = None
    tolerance_grad: Annotated[float, Range(0)] = 1e-7
    tolerance_change: Annotated[float, Range(0)] = 1e-9
    history_size: Annotated[int, Range(1, 10**4)] = 100
    line_search: Literal["strong_wolfe"] | None = None

    @property
    def most_evaluations(self) -> int:
        """The count of evaluations at which a step ends."""
        return self.max_iter * 5 // 4 if self.max_eval is None else self.max_eval

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {
            **curvature_slots(parameter, self.history_size),
            "gradient": parameter,
            "direction": parameter,
            "length": Spec((), FLOAT64),
            "iterations": COUNT,
            "evaluations": Spec((), INT64),
        }

    def step(self, evaluate: Evaluate, x: Array, state: Mapping[str, Array], lr: float) -> LBFGSStep:
        """Minimise the loss by one step; `x` and `state` are changed in place.

        Args:
            evaluate: returns loss and gradient at the vector that it is passed, which always is `x` itself.
            x: the parameters, one vector of float32 or float64.
            state: arrays as `slots` describes them, zeros at first.
            lr: the length of moves, or where the line search starts.
        """
        return _Minimization(self, evaluate, x, state, lr).run()


@dataclass(frozen=True, slots=True)
class _Point:
    """The state of a minimisation: the loss, and a copy of the gradient."""

    loss: float
    gradient: Array

    @property
    def finite(self) -> bool:
        return math.isfinite(self.loss) and bool(np.isfinite(self.gradient).all())


@dataclass(slots=True)
class _Minimization:
    """One step: its vector, and its counts of moves and evaluations."""

    options: LBFGS
    evaluate: Evaluate
    x: Array
    state: Mapping[str, Array]
    lr: float
    iterations: int = 0
    evaluations: int = 0

    def run(self) -> LBFGSStep:
        """Move until a condition ends the step."""
        here = start = self.evaluated()
        stopped: Stopped | None = None if start.finite else "nonfinite"
        if stopped is None and largest(start.gradient) <= self.options.tolerance_grad:
            stopped = "gradient"
        while stopped is None:
            here, stopped = self.moved(here)
        return LBFGSStep(start.loss, here.loss, self.iterations, self.evaluations, stopped)

    def evaluated(self) -> _Point:
        """Evaluate the loss at `x`, and count that."""
        self.evaluations += 1
        self.state["evaluations"][...] += 1
        loss, gradient = self.evaluate(self.x)
        return _Point(float(loss), np.array(gradient, self.x.dtype))

    def moved(self, here: _Point) -> tuple[_Point, Stopped | None]:
        """Take one direction and move along it; an error of the evaluation leaves `x` where it was."""
        self.iterations += 1
        direction, slope = self.directed(here.gradient)
        if slope > -self.options.tolerance_change:
            return here, "slope"
        before = self.x.copy()
        try:
            if self.options.line_search is not None:
                return self.searched(here, before, direction, slope)
            return self.stepped(here, before, direction)
        except BaseException:
            self.x[...] = before
            raise

    @np.errstate(over="ignore", invalid="ignore")
    def directed(self, gradient: Array) -> tuple[Array, float]:
        """Remember the move before, and return the next direction with the slope of the loss along it."""
        state, curvature = self.state, Curvature(self.state)
        first = not state["iterations"]
        if first:
            curvature.forget()
        else:
            curvature.remember(state["direction"] * float(state["length"]), gradient - state["gradient"])
        direction = curvature.direction(gradient)
        slope = inner(gradient, direction)
        if not math.isfinite(slope):
            first = True
            curvature.forget()
            direction = -gradient
            slope = inner(gradient, direction)
        state["iterations"][...] = 1 if first else state["iterations"] + 1
        state["gradient"][...], state["direction"][...] = gradient, direction
        size = float(np.sum(np.abs(gradient), dtype=np.float64)) if first else 0.0
        state["length"][...] = min(1.0, 1.0 / size) * self.lr if first else self.lr
        return direction, slope

    def stepped(self, here: _Point, before: Array, direction: Array) -> tuple[_Point, Stopped | None]:
        """Move by the length that is set; the loss there is evaluated unless this is the last move."""
        t = float(self.state["length"])
        self.place(before, direction, t)
        if self.iterations == self.options.max_iter:
            return here, "max_iter"
        there = self.evaluated()
        if not there.finite:
            self.x[...] = before
            self.state["iterations"][...] = 0
            return here, "nonfinite"
        return there, self.stop(here, there, largest(direction) * t)

    def searched(self, here: _Point, before: Array, direction: Array, slope: float) -> tuple[_Point, Stopped | None]:
        """Move to what a line search finds best."""

        def attempt(t: float) -> Trial:
            self.place(before, direction, t)
            there = self.evaluated()
            slope = inner(there.gradient, direction)
            usable = math.isfinite(there.loss) and math.isfinite(slope)
            return Trial(t, there.loss if usable else math.inf, there.gradient, slope)

        length, t = largest(direction), float(self.state["length"])
        start, left = Trial(0.0, here.loss, here.gradient, slope), self.options.most_evaluations - self.evaluations
        best = strong_wolfe(attempt, start, t, length, self.options.tolerance_change, left)
        self.place(before, direction, best.t)
        self.state["length"][...] = best.t
        there = _Point(best.loss, best.gradient)
        return there, self.stop(here, there, length * best.t)

    @np.errstate(over="ignore", invalid="ignore")
    def place(self, before: Array, direction: Array, t: float) -> None:
        """Set `x` to the point t along the direction."""
        self.x[...] = before + direction * t

    def stop(self, here: _Point, there: _Point, length: float) -> Stopped | None:
        """Return why to stop after a move from one point to another, or None."""
        options = self.options
        reasons: dict[Stopped, bool] = {
            "max_iter": self.iterations == options.max_iter,
            "max_eval": self.evaluations >= options.most_evaluations,
            "gradient": largest(there.gradient) <= options.tolerance_grad,
            "step": length <= options.tolerance_change,
            "loss": abs(there.loss - here.loss) < options.tolerance_change,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)


LEAST_CURVATURE = 1e-10
"""Pairs whose inner product is not greater are not stored, as in torch."""


def curvature_slots(parameter: Spec, history_size: int) -> dict[str, Spec]:
    """Return shape and dtype of the arrays of `Curvature` for a vector; all start at 0."""
    pairs = Spec((history_size, *parameter.shape), parameter.dtype)
    return {
        "steps": pairs,
        "changes": pairs,
        "inverse_products": Spec((history_size, 1), FLOAT64),  # one axis would pass for a slot beside the vector
        "scale": Spec((), FLOAT64),
        "held": Spec((), INT64),
        "oldest": Spec((), INT64),
    }


class Curvature:
    """The pairs (step s, change of the gradient y), in arrays of the caller.

    Row `oldest` of the ring buffers is the first of the `held` pairs; `inverse_products` are 1 / (y s), `scale` is
    y s / (y y) of the latest pair.
    """

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        """Use arrays as `curvature_slots` describes them."""
        self._arrays = arrays
        self._steps, self._changes = arrays["steps"], arrays["changes"]
        self._inverse_products = arrays["inverse_products"]

    def forget(self) -> None:
        """Drop all pairs, so that the next direction is that of steepest descent."""
        self._arrays["held"][...] = self._arrays["oldest"][...] = 0
        self._arrays["scale"][...] = 1.0

    @np.errstate(over="ignore", invalid="ignore")
    def remember(self, step: Array, change: Array) -> None:
        """Add a pair in place of the oldest, if the gradient grew along the step."""
        product = inner(change, step)
        if not product > LEAST_CURVATURE:
            return
        size, held, oldest = len(self._steps), int(self._arrays["held"]), int(self._arrays["oldest"])
        row = (oldest + held) % size
        self._steps[row], self._changes[row], self._inverse_products[row, 0] = step, change, 1.0 / product
        if held == size:
            self._arrays["oldest"][...] = (oldest + 1) % size
        else:
            self._arrays["held"][...] = held + 1
        self._arrays["scale"][...] = product / inner(change, change)

    @np.errstate(over="ignore", invalid="ignore")
    def direction(self, gradient: Array) -> Array:
        """Return minus the inverse Hessian times the gradient, by two loops over the pairs (Nocedal 1980)."""
        rows = self._rows()
        direction, weights = -gradient, {}
        for row in reversed(rows):
            weights[row] = inner(self._steps[row], direction) * float(self._inverse_products[row, 0])
            direction += self._changes[row] * -weights[row]
        direction *= float(self._arrays["scale"])
        for row in rows:
            weight = inner(self._changes[row], direction) * float(self._inverse_products[row, 0])
            direction += self._steps[row] * (weights[row] - weight)
        return direction

    def _rows(self) -> list[int]:
        """Return the rows of the pairs, the oldest first."""
        held, oldest = int(self._arrays["held"]), int(self._arrays["oldest"])
        return [(oldest + place) % len(self._steps) for place in range(held)]


BLOCK = 2**16
"""Number of elements of one partial sum, which fit the cache."""


def inner(a: Array, b: Array) -> float:
    """Return the inner product of two vectors of the same length, added pairwise in float64 within each block.

    BLAS would divide a long vector among its threads, so that the sum depended on their number. Overflow gives inf or
    NaN, without a warning.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = (slice(start, start + BLOCK) for start in range(0, a.size, BLOCK))
        return sum((float(np.add.reduce(np.multiply(a[at], b[at], dtype=np.float64))) for at in blocks), 0.0)


def largest(vector: Array) -> float:
    """Return the largest absolute element, 0 for a vector without elements; NaN if there is one."""
    return float(np.max(np.abs(vector), initial=0.0))
