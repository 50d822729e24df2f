"""Writes what PyTorch gives on the tape, for the tests to compare with: run it with a Python that has torch.

python tests/engine/optim/make_tape_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

GOLDEN = Path(__file__).parent / "golden"


def waves(*shape: int, start: float = 0.0) -> torch.Tensor:
    """Numbers that every machine makes alike: sines of the counting numbers, to six places."""
    count = int(torch.tensor(shape).prod())
    return torch.round(torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + start), decimals=6).reshape(shape)


def regression() -> dict:
    """The linear regression of y = 3 x + 2 with noise, 100 epochs of SGD."""
    x, noise = waves(20, 1), waves(20, 1, start=0.3)
    y = 3 * x + 2 + 0.1 * noise
    w = torch.tensor([[0.5]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([0.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.01)
    steps = []
    for _ in range(100):
        loss = torch.nn.functional.mse_loss(x @ w.T + b, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps.append([loss.item(), w.item(), b.item()])
    return {"steps": steps}


def annealing() -> dict:
    """150 epochs of a cosine schedule, the rate after each."""
    optimizer = torch.optim.Adam([torch.zeros(1, requires_grad=True)], lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 150, 1e-5)
    rates = []
    for _ in range(150):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    return {"rates": rates}


def clip_norms() -> list[dict]:
    """Clipping by norms of several orders."""
    runs = []
    for limit, order in ((1.0, 2.0), (1.0, float("inf")), (0.5, 1.0), (2.0, 3.0), (100.0, 2.0)):
        a, b = torch.zeros(3, dtype=torch.float64), torch.zeros(2, 2, dtype=torch.float64)
        a.grad, b.grad = waves(3) * 2, waves(2, 2, start=1.0) * 3
        total = torch.nn.utils.clip_grad_norm_([a, b], limit, norm_type=order)
        runs.append(
            {
                "limit": limit,
                "order": str(order),
                "total": total.item(),
                "a": a.grad.tolist(),
                "b": b.grad.tolist(),
            }
        )
    return runs


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for make in (regression, annealing, clip_norms):
        (GOLDEN / f"{make.__name__}.json").write_text(json.dumps(make(), indent=1) + "\n")
