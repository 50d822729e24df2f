"""Loss scaling: a scaled loss keeps small float16 gradients from becoming 0, and steps that overflow are skipped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from engine.core.dtypes import computing_dtype
from engine.core.errors import AttributeValueError, CheckpointError, GradientError
from engine.core.modes import no_grad
from engine.core.value import Value
from engine.ops.elementwise.casting import cast
from engine.optim.tape_optimizer import TapeOptimizer


@dataclass(frozen=True, slots=True)
class ScaledStep:
    """The result of a step: whether it was skipped because a gradient was not finite, and the next scale."""

    found_inf: bool
    scale: float


@dataclass(frozen=True, slots=True)
class ScalerState:
    """The scale, and the number of finite steps since its last change."""

    scale: float
    good_steps: int


class LossScaler:
    """Scales the loss of a model with half type parameters, semantics of torch.amp.GradScaler.

    `scaler.scaled(loss).backward()`, then `scaler.step(optimizer)`. A gradient that is not finite skips the step and
    halves the scale; after `growth_interval` consecutive finite steps the scale doubles (Micikevicius et al. 2018).
    """

    def __init__(
        self,
        scale: float = 2.0**16,
        *,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ) -> None:
        """Start with a scale; the growth factor is greater than 1, the back-off factor between 0 and 1."""
        if not (0 < scale < math.inf and growth_factor > 1 and 0 < backoff_factor < 1 and growth_interval >= 1):
            raise AttributeValueError(
                "a loss scaler needs 0 < scale, growth_factor > 1, 0 < backoff_factor < 1 and growth_interval >= 1, "
                f"got {scale}, {growth_factor}, {backoff_factor} and {growth_interval}"
            )
        self.growth_factor = growth_factor
        self.backoff_factor = backoff_factor
        self.growth_interval = growth_interval
        self._state = ScalerState(scale, 0)
        self._found_inf: bool | None = None  # of gradients that are unscaled already

    @property
    def scale(self) -> float:
        """The factor of the next loss."""
        return self._state.scale

    def scaled(self, loss: Value) -> Value:
        """Return the loss times the scale, in float32 at least."""
        return cast(loss, dtype=computing_dtype(loss.dtype)) * self.scale

    def unscale_(self, optimizer: TapeOptimizer) -> bool:
        """Divide the gradients by the scale before `step`, to clip them; return whether one was not finite.

        Unlike in `step`, the gradients of float16 parameters are then rounded to float16.

        Raises:
            GradientError: they are already unscaled.
        """
        if self._found_inf is not None:
            raise GradientError("the gradients have been unscaled since the last step; unscale_ goes once before step")
        gradients, self._found_inf = self._unscaled(optimizer)
        with no_grad():
            for name, gradient in gradients.items():
                leaf = optimizer.parameters[name]
                leaf.grad = cast(gradient, dtype=leaf.dtype)
        return self._found_inf

    def step(self, optimizer: TapeOptimizer) -> ScaledStep:
        """Unscale the gradients if necessary, step unless one is not finite, and set the next scale."""
        gradients, found_inf = None, self._found_inf
        if found_inf is None:
            gradients, found_inf = self._unscaled(optimizer)
        self._found_inf = None
        if not found_inf:
            optimizer.step(gradients)
        self._state = self._next(found_inf)
        return ScaledStep(found_inf, self.scale)

    def state_dict(self) -> dict[str, float | int]:
        """Return the scale and the count of good steps."""
        return asdict(self._state)

    def load_state_dict(self, state: Mapping[str, float | int]) -> None:
        """Restore the result of `state_dict`."""
        if set(state) != {"scale", "good_steps"}:
            raise CheckpointError(f"the state of a loss scaler holds scale and good_steps, not {sorted(state)}")
        self._state = ScalerState(float(state["scale"]), int(state["good_steps"]))

    def _unscaled(self, optimizer: TapeOptimizer) -> tuple[dict[str, Value], bool]:
        """Return the gradients divided by the scale, in float32 at least, and whether one was not finite."""
        gradients = {}
        with no_grad():
            for name, leaf in optimizer.parameters.items():
                if leaf.grad is not None:
                    wide = cast(leaf.grad, dtype=computing_dtype(leaf.dtype))
                    gradients[name] = wide * (1.0 / self.scale)
        return gradients, not all(np.isfinite(gradient.numpy()).all() for gradient in gradients.values())

    def _next(self, found_inf: bool) -> ScalerState:
        scale, good_steps = self._state.scale, self._state.good_steps + 1
        if found_inf:
            return ScalerState(scale * self.backoff_factor, 0)
        if good_steps < self.growth_interval:
            return ScalerState(scale, good_steps)
        grown = scale * self.growth_factor
        return ScalerState(grown if grown < float(np.finfo(np.float32).max) else scale, 0)
