"""Writes losses and gradients of torch.autocast("cpu"), for test_autocast.py: run it with a Python that has torch.

python tests/engine/graph/make_autocast_golden.py
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from torch import nn

GOLDEN = Path(__file__).parent / "golden" / "autocast.npz"


class Last(nn.Module):
    """The last output of a recurrent layer."""

    def forward(self, created):
        return created[0][:, -1]


MODELS = {
    "mlp": lambda: nn.ModuleDict({"hidden": nn.Linear(8, 16), "relu": nn.ReLU(), "head": nn.Linear(16, 3)}),
    "cnn": lambda: nn.ModuleDict(
        {
            "conv": nn.Conv2d(2, 4, 3, padding=1, bias=False),
            "norm": nn.BatchNorm2d(4),
            "relu": nn.ReLU(),
            "pool": nn.MaxPool2d(2),
            "flat": nn.Flatten(),
            "head": nn.Linear(36, 3),
        }
    ),
    "transformer": lambda: nn.ModuleDict(
        {
            "block": nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
            "flat": nn.Flatten(),
            "head": nn.Linear(40, 3),
        }
    ),
    "lstm": lambda: nn.ModuleDict({"cells": nn.LSTM(5, 6, batch_first=True), "last": Last(), "head": nn.Linear(6, 3)}),
}
SHAPES = {"mlp": (16, 8), "cnn": (6, 2, 6, 6), "transformer": (6, 5, 8), "lstm": (6, 7, 5)}
TYPES = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


def waves(*shape: int, start: float = 0.0) -> torch.Tensor:
    """Numbers that every machine makes alike: sines of the counting numbers, to six places."""
    count = int(np.prod(shape))
    return torch.tensor(np.round(np.sin(np.arange(count) * 1.7 + start), 6).reshape(shape).astype(np.float32))


def run(name: str, dtype: torch.dtype | None) -> dict[str, np.ndarray]:
    """Return the loss and the gradient of each parameter after one step in training mode."""
    model = MODELS[name]().train()
    with torch.no_grad():
        for place, (_, parameter) in enumerate(sorted(model.named_parameters())):
            parameter.copy_(0.4 * waves(*parameter.shape, start=float(place)))
    y = waves(*SHAPES[name], start=0.5)
    target = torch.arange(len(y)) % 3
    # oneDNN has no float16 LSTM for every processor; without it the cells are those of torch itself.
    with torch.backends.mkldnn.flags(enabled=False), nullcontext() if dtype is None else torch.autocast("cpu", dtype):
        for layer in model.values():
            y = layer(y)
        loss = nn.functional.cross_entropy(y, target)
    assert loss.dtype == torch.float32
    loss.backward()
    return {"loss": loss.detach().numpy(), **{n: p.grad.numpy() for n, p in model.named_parameters()}}


if __name__ == "__main__":
    found = {f"{m} {t} {n}": a for m in MODELS for t, dtype in TYPES.items() for n, a in run(m, dtype).items()}
    np.savez_compressed(GOLDEN, **found)
