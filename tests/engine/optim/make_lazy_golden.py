"""Writes what torch.optim.SparseAdam makes of tables: run it with a Python that has torch.

python tests/engine/optim/make_lazy_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

FILE = Path(__file__).parent / "golden" / "lazy_adam.json"
ROWS, UNITS, STEPS = 6, 3, 12
OPTIONS: list[dict[str, Any]] = [
    {"lr": 0.1},
    {"lr": 0.02, "betas": [0.7, 0.9], "eps": 1e-3},
    {"lr": 0.05, "betas": [0.0, 0.99], "maximize": True},
]


def main() -> None:
    """Write, for each set of options, the gradients by row and the table after each step."""
    rng = np.random.default_rng(0)
    start = rng.standard_normal((ROWS, UNITS))
    # Few rows a step, and the last row in none of them.
    rows = [sorted(rng.choice(ROWS - 1, size=rng.integers(1, 3), replace=False).tolist()) for _ in range(STEPS)]
    gradients = [rng.standard_normal((len(each), UNITS)).tolist() for each in rows]
    cases = [{"options": options, "tables": _tables(start, rows, gradients, options)} for options in OPTIONS]
    document = {"torch": torch.__version__, "start": start.tolist(), "rows": rows, "gradients": gradients}
    FILE.write_text(json.dumps({**document, "cases": cases}, separators=(",", ":")) + "\n")


def _tables(start: np.ndarray, rows: list[list[int]], gradients: list[Any], options: dict[str, Any]) -> list[Any]:
    table = torch.nn.Parameter(torch.tensor(start))
    optimizer = torch.optim.SparseAdam([table], **options)
    tables = []
    for places, values in zip(rows, gradients, strict=True):
        table.grad = torch.sparse_coo_tensor(
            torch.tensor([places]), torch.tensor(values, dtype=table.dtype), table.shape
        )
        optimizer.step()
        tables.append(table.detach().tolist())
    return tables


if __name__ == "__main__":
    main()
