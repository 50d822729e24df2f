"""Writes the trajectories of PyTorch that the tests compare with: run it with a Python that has torch.

python tests/engine/optim/make_golden.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

Array = np.ndarray
GOLDEN = Path(__file__).parent / "golden"
STEPS = 50
RECORDED = [1, 2, 3, 4, 5, 6, 8, 12, 20, 35, 50]
OPTIMIZERS = {
    "sgd": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.05, "maximize": True},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
        {"lr": 0.1, "momentum": 0.8, "dampening": 0.5, "weight_decay": 0.1},
        {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.2},
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2, "decoupled": True},
    ],
    "adam": [
        {"lr": 0.1},
        {"lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-6},
        {"lr": 0.1, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.02, "betas": [0.0, 0.99]},
        {"lr": 0.1, "betas": [0.9, 0.7], "amsgrad": True},
    ],
    "adamw": [
        {"lr": 0.1},
        {"lr": 0.02, "betas": [0.7, 0.99], "eps": 1e-5, "weight_decay": 0.3},
        {"lr": 0.1, "weight_decay": 0.0, "amsgrad": True},
    ],
    "adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1},
        {"lr": 0.2, "initial_accumulator_value": 0.5, "eps": 1e-3, "maximize": True},
    ],
    "rmsprop": [
        {},
        {"lr": 0.02, "alpha": 0.9, "weight_decay": 0.1, "eps": 1e-4},
        {"lr": 0.02, "momentum": 0.9},
        {"lr": 0.01, "alpha": 0.8, "momentum": 0.5, "centered": True, "eps": 1e-2},
    ],
    "adadelta": [{}, {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1}],
    "adamax": [{}, {"lr": 0.1, "betas": [0.8, 0.9], "eps": 1e-3, "weight_decay": 0.1}],
    "nadam": [
        {},
        {"lr": 0.1, "betas": [0.8, 0.9], "eps": 1e-4, "weight_decay": 0.1, "momentum_decay": 0.1},
        {"lr": 0.05, "weight_decay": 0.2, "decoupled": True, "maximize": True},
    ],
    "radam": [
        {},
        {"lr": 0.1, "betas": [0.8, 0.9], "eps": 1e-4, "weight_decay": 0.1},
        {"lr": 0.05, "betas": [0.9, 0.6], "weight_decay": 0.2, "decoupled": True},
    ],
    "rprop": [{}, {"lr": 0.1, "etas": [0.3, 1.5], "step_sizes": [0.01, 0.4], "maximize": True}],
    "asgd": [{}, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 5.0, "weight_decay": 0.1}],
    "lion": [{}, {"lr": 0.01, "betas": [0.7, 0.9], "weight_decay": 0.5}, {"lr": 0.05, "maximize": True}],
    "lars": [
        {},
        {"lr": 0.1, "trust_coefficient": 0.5, "momentum": 0.5, "weight_decay": 0.1},
        {"lr": 0.05, "trust_coefficient": 1.0, "momentum": 0.0, "weight_decay": 0.0, "maximize": True},
    ],
    "lamb": [{}, {"lr": 0.05, "betas": [0.7, 0.9], "eps": 1e-4, "weight_decay": 0.3}],
    "adafactor": [
        {},
        {"lr": 0.05, "beta2_decay": -0.5, "eps": [1e-4, 0.1], "d": 1.5, "weight_decay": 0.1, "maximize": True},
    ],
    "muon": [
        {},
        {"lr": 0.02, "momentum": 0.8, "nesterov": False, "weight_decay": 0.2},
        {"lr": 0.1, "ns_steps": 3, "ns_coefficients": [2.0, -1.5, 0.5], "adjust_lr_fn": "match_rms_adamw"},
    ],
}
CLASSES = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "adadelta": torch.optim.Adadelta,
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "rprop": torch.optim.Rprop,
    "asgd": torch.optim.ASGD,
    "adafactor": torch.optim.Adafactor,
    "muon": torch.optim.Muon,
}
RENAMED = {"nadam": {"decoupled": "decoupled_weight_decay"}, "radam": {"decoupled": "decoupled_weight_decay"}}
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
    """Run every optimizer on three problems; the parameter is recorded after some of the steps.

    The gradients of `stream` are given; those of `bowl` and `logistic` follow from the parameter, a matrix.
    """
    problems = _problems()
    runs = []
    for kind, settings in OPTIMIZERS.items():
        for options in settings:
            for problem, data in problems.items():
                if kind != "muon" or data["start"].dim() == 2:
                    path = _path(kind, options, problem, data)
                    runs.append({"document": {"kind": kind, **options}, "problem": problem, "path": path})
    plain = {name: {key: array.tolist() for key, array in data.items()} for name, data in problems.items()}
    return [{"problems": plain, "recorded": RECORDED, "runs": runs}]


def _problems() -> dict[str, dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    stream = {"start": normal(5), "gradients": normal(STEPS, 5)}
    stream["gradients"][4] = 0.0  # a step without a gradient
    stream["gradients"][:, 4] *= 1e-6  # one that the eps of Adam matters for
    bowl = {"start": normal(3, 2), "centre": normal(3, 2), "steepness": normal(3, 2).abs() + 0.1}
    logistic = {"start": normal(2, 3), "x": normal(8, 2), "y": (normal(8, 3) > 0).double()}
    return {"stream": stream, "bowl": bowl, "logistic": logistic}


def _gradient(problem: str, data: dict[str, torch.Tensor], parameter: torch.Tensor, step: int) -> torch.Tensor:
    if problem == "stream":
        return data["gradients"][step].clone()
    known = parameter.detach().clone().requires_grad_()
    if problem == "bowl":
        loss = (data["steepness"] * (known - data["centre"]).square()).sum() / 2
    else:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(data["x"] @ known, data["y"])
    (gradient,) = torch.autograd.grad(loss, known)
    return gradient


def _path(kind: str, options: dict, problem: str, data: dict[str, torch.Tensor]) -> list:
    parameter = data["start"].clone().requires_grad_()
    step = STEPPERS[kind](parameter, **options) if kind in STEPPERS else _torch_stepper(kind, parameter, options)
    path = []
    for count in range(STEPS):
        step(_gradient(problem, data, parameter, count))
        if count + 1 in RECORDED:
            path.append(parameter.tolist())
    return path


def _torch_stepper(kind: str, parameter: torch.Tensor, options: dict) -> Callable[[torch.Tensor], None]:
    shrinking = 0.0
    if kind == "sgd" and options.get("decoupled"):  # which torch's has not: without decay, after shrinking by hand
        shrinking = options["weight_decay"] * options["lr"]
        options = {name: value for name, value in options.items() if name not in ("decoupled", "weight_decay")}
    renamed = RENAMED.get(kind, {})
    optimizer = CLASSES[kind]([parameter], **{renamed.get(name, name): value for name, value in options.items()})

    def step(gradient: torch.Tensor) -> None:
        with torch.no_grad():
            parameter.mul_(1 - shrinking)
        parameter.grad = gradient
        optimizer.step()

    return step


def _stepper(update: Callable[..., tuple[Array, dict[str, Array]]]) -> Callable[..., Callable[[torch.Tensor], None]]:
    """Make a stepper of a published formula: update(p, g, state, t, options) gives the parameter and the state."""

    def start(parameter: torch.Tensor, *, maximize: bool = False, **options: Any) -> Callable[[torch.Tensor], None]:
        state: dict[str, Array] = {"m": np.zeros(parameter.shape), "v": np.zeros(parameter.shape)}
        count = 0

        def step(gradient: torch.Tensor) -> None:
            nonlocal state, count
            count += 1
            known = parameter.detach().numpy()
            moved, state = update(known, gradient.numpy() * (-1 if maximize else 1), state, count, **options)
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(moved))

        return step

    return start


def _lion(p, g, state, t, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
    update = np.sign(betas[0] * state["m"] + (1 - betas[0]) * g)
    return p - lr * (update + weight_decay * p), {"m": betas[1] * state["m"] + (1 - betas[1]) * g}


def _lars(p, g, state, t, lr=1e-3, momentum=0.9, weight_decay=1e-4, trust_coefficient=1e-3):
    size, slope = np.linalg.norm(p), np.linalg.norm(g)
    local = trust_coefficient * size / (slope + weight_decay * size) if size and slope else 1.0
    v = momentum * state["m"] + lr * local * (g + weight_decay * p)
    return p - v, {"m": v}


def _lamb(p, g, state, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
    m = betas[0] * state["m"] + (1 - betas[0]) * g
    v = betas[1] * state["v"] + (1 - betas[1]) * g * g
    u = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps) + weight_decay * p
    size, length = np.linalg.norm(p), np.linalg.norm(u)
    return p - lr * (size / length if size and length else 1.0) * u, {"m": m, "v": v}


STEPPERS = {"lion": _stepper(_lion), "lars": _stepper(_lars), "lamb": _stepper(_lamb)}
"""Optimizers that torch lacks: Chen et al. 2023, You et al. 2017 and 2020, written out in NumPy."""

torch.set_default_dtype(torch.float64)  # that of the numbers which NAdam and ASGD keep
torch.Tensor.bfloat16 = torch.Tensor.clone  # torch's Muon rounds to it, which would hide what the iteration gives


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
