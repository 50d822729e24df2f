"""Writes what PyTorch's optimizers do while a schedule cycles their momentum: run it with a Python that has torch.

python tests/engine/optim/make_momentum_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

PATH = Path(__file__).parent / "golden" / "momentum.json"
STEPS = 24
START = [1.0, -0.5, 2.0, 0.25]
ONE_CYCLE = {"kind": "one_cycle", "total_steps": 30, "max_lr": 0.1, "base_momentum": 0.6}
CYCLIC = {"kind": "cyclic", "base_lr": 0.01, "max_lr": 0.1, "step_size_up": 5, "base_momentum": 0.4}
CLASSES = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "rmsprop": torch.optim.RMSprop,
}
OPTIMIZERS = [
    {"kind": "sgd"},
    {"kind": "sgd", "momentum": 0.2, "dampening": 0.3, "weight_decay": 0.1},
    {"kind": "sgd", "momentum": 0.9, "nesterov": True, "maximize": True},
    {"kind": "adam", "weight_decay": 0.1},
    {"kind": "adam", "betas": [0.5, 0.9], "amsgrad": True},
    {"kind": "adamw"},
    {"kind": "adamax"},
    {"kind": "nadam"},
    {"kind": "radam", "betas": [0.9, 0.8]},
    {"kind": "rmsprop"},
    {"kind": "rmsprop", "momentum": 0.5, "centered": True, "eps": 1e-2},
]


def waves(*shape: int) -> torch.Tensor:
    """Numbers that every machine makes alike: sines of the counting numbers, to six places."""
    count = int(torch.tensor(shape).prod())
    return torch.round(torch.sin(torch.arange(count, dtype=torch.float64) * 1.7), decimals=6).reshape(shape)


def path(document: dict, schedule: dict) -> list[list[float]]:
    """Step through the gradients; the parameter after each."""
    p = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    kind, *_ = document.values()
    optimizer = CLASSES[kind]([p], **{name: value for name, value in document.items() if name != "kind"})
    options = {name: value for name, value in schedule.items() if name != "kind"}
    created = (
        torch.optim.lr_scheduler.OneCycleLR if schedule["kind"] == "one_cycle" else torch.optim.lr_scheduler.CyclicLR
    )
    scheduler = created(optimizer, **options)
    found = []
    for gradient in waves(STEPS, len(START)):
        p.grad = gradient.clone()
        optimizer.step()
        scheduler.step()
        found.append(p.tolist())
    return found


def main() -> None:
    """Write the file."""
    runs = [
        {"document": document, "schedule": schedule, "path": path(document, schedule)}
        for document in OPTIMIZERS
        for schedule in (ONE_CYCLE, CYCLIC)
    ]
    gradients = waves(STEPS, len(START)).tolist()
    golden = {"torch": torch.__version__, "start": START, "gradients": gradients, "runs": runs}
    PATH.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


torch.set_default_dtype(torch.float64)  # that of the numbers which NAdam keeps

if __name__ == "__main__":
    main()
