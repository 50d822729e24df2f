"""Models that look rows of tables up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tests.benchmarks.families.shared import LABEL, OF_DATA, WITHIN, Columns, Graph, Loss


@dataclass(frozen=True)
class Tabular:
    """Categories looked up in one table, or each in `own_tables`, beside numbers, into linear layers with ReLU."""

    categories: int = 8
    rows: int = 8000
    units: int = 16
    numbers: int = 16
    widths: tuple[int, ...] = (256, 128, 2)
    own_tables: bool = False

    loss: ClassVar[Loss] = "cross_entropy"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw categories (each has its share of the table), numbers, and labels."""
        share = self.rows // self.categories
        first = 0 if self.own_tables else np.arange(self.categories) * share
        drawn = rng.integers(0, share, (rows, self.categories)) + first
        return {
            "x": drawn,
            "numbers": rng.standard_normal((rows, self.numbers)),
            "label": rng.integers(0, self.widths[-1], rows),
        }

    def graph(self) -> Graph:
        """Return the graph document."""
        widths = (self.categories * self.units + self.numbers, *self.widths)
        parameters, looked_up = self._tables()
        lines = [f"h0 = concat({looked_up}, numbers, axis=1)"]
        for place, (before, after) in enumerate(zip(widths, self.widths, strict=False)):
            parameters |= {f"w{place}": [after, before], f"b{place}": [after]}
            created = f"linear(h{place}, w{place}, b{place})"
            lines.append(f"h{place + 1} = {created if place == len(self.widths) - 1 else f'relu({created})'}")
        lines.append(f"loss = cross_entropy(h{len(self.widths)}, label)")
        return {
            "inputs": {
                "x": {"shape": ["batch", self.categories], "dtype": "int64"},
                "numbers": ["batch", self.numbers],
                "label": LABEL,
            },
            "parameters": parameters,
            "program": "\n".join(lines),
        }

    def _tables(self) -> tuple[dict[str, Any], str]:
        """Return the tables, and the expression of what is looked up in them."""
        if not self.own_tables:
            return {"table": [self.rows, self.units]}, "flatten(embedding(table, x), start=1)"
        share = self.rows // self.categories
        tables = {f"table{k}": [share, self.units] for k in range(self.categories)}
        return tables, ", ".join(f"embedding(table{k}, x[:, {k}])" for k in range(self.categories))

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        looked_up = self.categories * self.units
        first = self.widths[0] * (looked_up * WITHIN + self.numbers * OF_DATA)
        rest = sum(a * b * WITHIN for a, b in zip(self.widths, self.widths[1:], strict=False))
        return 2 * rows * (first + rest)


@dataclass(frozen=True)
class Factors:
    """Matrix factorisation: a rating is the product of a user's and an item's factors, and their biases."""

    users: int = 20_000
    items: int = 5000
    units: int = 32

    loss: ClassVar[Loss] = "mse"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw who rates what, and ratings."""
        pairs = np.stack([rng.integers(0, self.users, rows), rng.integers(0, self.items, rows)], axis=1)
        return {"x": pairs, "label": rng.standard_normal(rows)}

    def graph(self) -> Graph:
        """Return the graph document."""
        lines = [
            "user = x[:, 0]",
            "item = x[:, 1]",
            "product = sum(embedding(users, user) * embedding(items, item), axis=1)",
            "rating = product + embedding(user_bias, user)[:, 0] + embedding(item_bias, item)[:, 0]",
            "loss = mse_loss(rating, label)",
        ]
        return {
            "inputs": {"x": {"shape": ["batch", 2], "dtype": "int64"}, "label": ["batch"]},
            "parameters": {
                "users": [self.users, self.units],
                "items": [self.items, self.units],
                "user_bias": [self.users, 1],
                "item_bias": [self.items, 1],
            },
            "program": "\n".join(lines),
        }

    def flops(self, rows: int) -> int:
        """Count the operations of the products."""
        return 2 * rows * self.units * WITHIN


@dataclass(frozen=True)
class FactorizationMachine:
    """A click: weights of categories, products of their embeddings by pairs, and an MLP on these (DeepFM)."""

    fields: int = 10
    rows: int = 10_000
    units: int = 16
    widths: tuple[int, ...] = (64, 32, 1)

    loss: ClassVar[Loss] = "binary_cross_entropy_with_logits"

    def columns(self, rng: np.random.Generator, rows: int) -> Columns:
        """Draw the category of each field, which has its share of the tables, and clicks."""
        share = self.rows // self.fields
        x = rng.integers(0, share, (rows, self.fields)) + np.arange(self.fields) * share
        return {"x": x, "label": rng.integers(0, 2, rows).astype(np.float64)}

    def graph(self) -> Graph:
        """Return the graph document."""
        parameters: dict[str, Any] = {"table": [self.rows, self.units], "table_weight": [self.rows, 1], "bias": [1]}
        lines = ["v = embedding(table, x)", "s = sum(v, axis=1)", "h0 = flatten(v, start=1)"]
        lines.append("pairs = 0.5 * sum(s * s - sum(v * v, axis=1), axis=1)")
        widths = (self.fields * self.units, *self.widths)
        for place, (before, after) in enumerate(zip(widths, self.widths, strict=False)):
            parameters |= {f"w{place}": [after, before], f"b{place}": [after]}
            created = f"linear(h{place}, w{place}, b{place})"
            lines.append(f"h{place + 1} = {created if after == 1 else f'relu({created})'}")
        lines.append(f"score = sum(embedding(table_weight, x), axis=[1, 2]) + pairs + h{len(self.widths)}[:, 0] + bias")
        lines.append("loss = binary_cross_entropy_with_logits(score, label)")
        inputs = {"x": {"shape": ["batch", self.fields], "dtype": "int64"}, "label": ["batch"]}
        return {"inputs": inputs, "parameters": parameters, "program": "\n".join(lines)}

    def flops(self, rows: int) -> int:
        """Count the operations of a step's matrix products."""
        widths = (self.fields * self.units, *self.widths)
        return 2 * rows * WITHIN * sum(a * b for a, b in zip(widths, self.widths, strict=False))
