"""Writes what PyTorch gives for whole models, for the tests to compare with: run it with a Python that has torch.

python tests/engine/nn/modules/make_golden.py
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


def digits() -> dict:
    """784-512-10 without biases, softmax and a loss of log(p + 0.001), updated by hand."""
    x, labels = waves(16, 784), torch.arange(16) % 10
    y = torch.nn.functional.one_hot(labels, 10).to(torch.float64)
    first, second = (0.05 * waves(784, 512, start=1.0)).requires_grad_(), (0.05 * waves(512, 10, start=2.0))
    second.requires_grad_()
    losses = []
    for _ in range(8):
        p = torch.softmax(torch.relu(x @ first) @ second, 1)
        loss = -(y * torch.log(p + 0.001)).sum() / 1200
        loss.backward()
        losses.append(loss.item())
        first = (first.detach() - 0.01 * first.grad).requires_grad_()
        second = (second.detach() - 0.01 * second.grad).requires_grad_()
    return {"losses": losses}


def normed() -> dict:
    """Linear, relu, batch norm, linear: 5 steps of Adam on cross entropy; then evaluation."""
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 3)
    ).double()
    with torch.no_grad():
        for place, parameter in enumerate(model.parameters()):
            parameter.copy_(0.5 * waves(*parameter.shape, start=float(place)) + (place == 2))
    x, target = waves(12, 4, start=0.5), torch.arange(12) % 3
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses, first = [], None
    for _ in range(5):
        loss = torch.nn.functional.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        first = first or [p.grad.tolist() for p in model.parameters()]
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return {
        "losses": losses,
        "first_gradients": first,
        "parameters": [p.tolist() for p in model.parameters()],
        "running_mean": model[2].running_mean.tolist(),
        "running_var": model[2].running_var.tolist(),
        "evaluated": model(x).tolist(),
    }


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for make in (digits, normed):
        (GOLDEN / f"{make.__name__}.json").write_text(json.dumps(make(), indent=1) + "\n")
