"""Muon: momentum whose matrix is made nearly orthogonal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.core.errors import AttributeValueError, ShapeError
from engine.core.value import Spec, Value
from engine.ops.elementwise import clamp, sqrt, square
from engine.ops.linalg import matmul
from engine.ops.reduce import sum
from engine.ops.shape import t
from engine.optim.momentum import Momentum, MomentumTransform
from engine.optim.transform import Slots, Stepped, nonnegative, shrunk

MOST_STEPS = 99


@dataclass(frozen=True, kw_only=True)
class Muon(MomentumTransform):
    """Momentum orthogonalised by Newton-Schulz steps (Jordan et al. 2024), as torch.optim.Muon; matrices only.

    The iteration runs in the dtype of the parameter, where torch rounds to bfloat16. `adjust_lr_fn` scales the rate of
    a matrix of A rows and B columns: "original" by sqrt(max(1, A / B)), "match_rms_adamw" by 0.2 * sqrt(max(A, B)).
    """

    kind: ClassVar[str] = "muon"
    elementwise: ClassVar[bool] = False
    weight_decay: float = 0.1
    momentum: float = 0.95
    nesterov: bool = True
    ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315)
    eps: float = 1e-7
    ns_steps: int = 5
    adjust_lr_fn: Literal["original", "match_rms_adamw"] = "original"

    def __post_init__(self) -> None:
        """Check the domains of the options."""
        nonnegative({"lr": self.lr, "weight_decay": self.weight_decay, "momentum": self.momentum, "eps": self.eps})
        if not 0 <= self.ns_steps <= MOST_STEPS:
            raise AttributeValueError(f"ns_steps must lie in 0..{MOST_STEPS}, not {self.ns_steps}")

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

    def step_by(self, momentum: Momentum, gradient: Value, parameter: Value, slots: Slots, lr: Value) -> Stepped:
        """Step by the orthogonalised momentum."""
        kept = slots["momentum"] * momentum + gradient * (1.0 - momentum)
        direction = gradient * (1.0 - momentum) + kept * momentum if self.nesterov else kept
        rate = lr * self._adjustment(*parameter.shape)
        stepped = shrunk(parameter, lr, self.weight_decay) - self._orthogonal(direction) * rate
        return stepped, {"momentum": kept}

    def _orthogonal(self, matrix: Value) -> Value:
        """Return the matrix with singular values near 1: iterations x -> a x + (b g + c g g) x, where g = x x'."""
        a, b, c = self.ns_coefficients
        tall = matrix.shape[0] > matrix.shape[1]
        x = t(matrix) if tall else matrix
        x = x / clamp(sqrt(sum(square(x))), min=self.eps)
        for _ in range(self.ns_steps):
            gram = matmul(x, t(x))
            x = x * a + matmul(gram * b + matmul(gram, gram) * c, x)
        return t(x) if tall else x

    def _adjustment(self, rows: int, columns: int) -> float:
        if self.adjust_lr_fn == "match_rms_adamw":
            return 0.2 * math.sqrt(max(rows, columns))
        return math.sqrt(max(1.0, rows / columns)) if columns else 1.0
