"""Models that compare the rows of a batch with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tests.benchmarks.families.shared import OF_DATA, WITHIN, Columns, Graph, Loss


@dataclass(frozen=True)
class Contrastive:
    """Linear layers, rows of norm 1, and the cross entropy of each view's twin among all other views (SimCLR)."""

    rows: int = 128
    widths: tuple[int, ...] = (64, 256, 64)
    temperature: float = 0.5

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw two noisy views of each row, and where the twin of each view is among those of the batch."""
        x = rng.standard_normal((rows, 1, self.widths[0])) + 0.3 * rng.standard_normal((rows, 2, self.widths[0]))
        return {"x": x, "label": 2 * (np.arange(rows) % self.rows)[:, None] + [1, 0]}

    def graph(self) -> Graph:
        """Return the graph document."""
        parameters: dict[str, Any] = {}
        lines = ["h0 = reshape(x, shape=[-1, " + f"{self.widths[0]}])"]
        for place, (before, after) in enumerate(zip(self.widths, self.widths[1:], strict=False)):
            parameters |= {f"w{place}": [after, before], f"b{place}": [after]}
            created = f"linear(h{place}, w{place}, b{place})"
            lines.append(f"h{place + 1} = {created if place == len(self.widths) - 2 else f'relu({created})'}")
        views = 2 * self.rows
        lines += [
            f"z = normalize(h{len(self.widths) - 1}, axis=1)",
            f"scores = masked_fill((z @ z.T) * {1 / self.temperature}, eye(rows={views}, dtype='bool'), -1e9)",
            "loss = cross_entropy(scores, flatten(label))",
        ]
        inputs = {
            "x": {"shape": [self.rows, 2, self.widths[0]]},
            "label": {"shape": [self.rows, 2], "dtype": "int64"},
        }
        return {"inputs": inputs, "parameters": parameters, "program": "\n".join(lines)}

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        pairs = list(zip(self.widths, self.widths[1:], strict=False))
        layers = sum(a * b * (WITHIN if place else OF_DATA) for place, (a, b) in enumerate(pairs))
        return 2 * (2 * rows) * (layers + 2 * rows * self.widths[-1] * WITHIN)
