"""Writes the trajectories of PyTorch that the tests compare with: run it with a Python that has torch.

python tests/engine/optim/make_golden.py
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

GOLDEN = Path(__file__).parent / "golden"
STEPS = 12
OPTIMIZERS = {
    "sgd": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.05},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
        {"lr": 0.1, "momentum": 0.8, "dampening": 0.5, "weight_decay": 0.1},
        {"lr": 0.05, "momentum": 0.9, "nesterov": True},
        {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.2},
    ],
    "adam": [
        {"lr": 0.1},
        {"lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-6},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "betas": [0.0, 0.9]},
    ],
    "adamw": [
        {"lr": 0.1},
        {"lr": 0.02, "betas": [0.7, 0.99], "eps": 1e-5, "weight_decay": 0.3},
        {"lr": 0.1, "weight_decay": 0.0},
    ],
}
CLASSES = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
SCHEDULES = [
    {"kind": "constant"},
    {"kind": "step", "step_size": 7},
    {"kind": "step", "step_size": 30, "gamma": 0.5},
    {"kind": "step", "step_size": 1, "gamma": 0.97},
    {"kind": "cosine", "t_max": 100},
    {"kind": "cosine", "t_max": 20, "eta_min": 0.003},
    {"kind": "cosine", "t_max": 1},
]
CLIPS = [{"norm": limit} for limit in (0.5, 2.0, 5.0, 100.0)] + [{"value": limit} for limit in (0.25, 1.0, 10.0)]


def optimizers() -> list[dict]:
    """Run every optimizer over given gradients; a parameter is recorded after each step."""
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(5, generator=generator, dtype=torch.float64)
    gradients = torch.randn(STEPS, 5, generator=generator, dtype=torch.float64)
    gradients[4] = 0.0  # a step without a gradient
    gradients[:, 4] *= 1e-6  # one that the eps of Adam matters for
    runs = []
    for kind, settings in OPTIMIZERS.items():
        for options in settings:
            parameter = start.clone().requires_grad_()
            optimizer = CLASSES[kind]([parameter], **options)
            path = []
            for gradient in gradients:
                parameter.grad = gradient.clone()
                optimizer.step()
                path.append(parameter.tolist())
            runs.append({"document": {"kind": kind, **options}, "path": path})
    return [{"start": start.tolist(), "gradients": gradients.tolist(), "runs": runs}]


def schedules() -> list[dict]:
    """Run every schedule for a hundred steps."""
    runs = []
    for document in SCHEDULES:
        options = {name: value for name, value in document.items() if name != "kind"}
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        scheduler = {
            "constant": lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda _: 1.0),
            "step": lambda o, options=options: torch.optim.lr_scheduler.StepLR(o, **options),
            "cosine": lambda o, options=options: torch.optim.lr_scheduler.CosineAnnealingLR(
                o, T_max=options["t_max"], eta_min=options.get("eta_min", 0.0)
            ),
        }[document["kind"]](optimizer)
        rates = []
        for _ in range(100):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        runs.append({"document": document, "rates": rates})
    return runs


def clips() -> list[dict]:
    """Clip the gradients of two parameters together."""
    generator = torch.Generator().manual_seed(1)
    gradients = [torch.randn(size, generator=generator, dtype=torch.float64) * 2 for size in (3, 2)]
    runs = []
    for document in CLIPS:
        parameters = [torch.zeros_like(gradient, requires_grad=True) for gradient in gradients]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.clone()
        norm = None
        if "norm" in document:
            norm = torch.nn.utils.clip_grad_norm_(parameters, document["norm"]).item()
        else:
            torch.nn.utils.clip_grad_value_(parameters, document["value"])
        runs.append({"document": document, "norm": norm, "clipped": [p.grad.tolist() for p in parameters]})
    return [{"gradients": [gradient.tolist() for gradient in gradients], "runs": runs}]


def line() -> list[dict]:
    """Linear regression as in PyTorch's C++ autograd guide: y = 3 x + 2 + 0.1 noise, 100 epochs, the whole batch."""
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(100, 1, generator=generator, dtype=torch.float64)
    y = 3 * x + 2 + torch.randn(100, 1, generator=generator, dtype=torch.float64) * 0.1
    w = torch.randn(1, 1, generator=generator, dtype=torch.float64).requires_grad_()
    b = torch.zeros(1, dtype=torch.float64).requires_grad_()
    start, losses, path = w.item(), [], []
    for _ in range(100):
        loss = (x.mm(w) + b - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
            b -= 0.01 * b.grad
            w.grad.zero_()
            b.grad.zero_()
        losses.append(loss.item())
        path.append([w.item(), b.item()])
    return [{"x": x.tolist(), "y": y.tolist(), "w": start, "losses": losses, "path": path}]


def main() -> None:
    """Write every file."""
    for make in (optimizers, schedules, clips, line):
        path = GOLDEN / f"{make.__name__}.json"
        path.write_text(json.dumps(make(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
