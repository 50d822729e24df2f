"""Writes the trajectories of PyTorch's schedules that the tests compare with: run it with a Python that has torch.

python tests/engine/optim/make_schedule_golden.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from torch.optim import lr_scheduler as torchs

PATH = Path(__file__).parent / "golden" / "schedule_trajectories.json"
BASE, STEPS = 0.1, 100
FACTORS = [0.5 + (7 * i % 11) / 10 for i in range(60)]
SCHEDULES = [
    {"kind": "constant"},
    {"kind": "step", "step_size": 30, "gamma": 0.5},
    {"kind": "cosine", "t_max": 20, "eta_min": 0.003},
    {"kind": "multiplicative", "factor": 0.95},
    {"kind": "multiplicative", "factor": FACTORS},
    {"kind": "multi_step", "milestones": [30, 80]},
    {"kind": "multi_step", "milestones": [60, 20, 20, 41], "gamma": 0.6},
    {"kind": "constant_factor"},
    {"kind": "constant_factor", "factor": 0.25, "total_iters": 40},
    {"kind": "linear"},
    {"kind": "linear", "start_factor": 1.0, "end_factor": 0.05, "total_iters": 70},
    {"kind": "exponential", "gamma": 0.93},
    {"kind": "exponential", "gamma": 1.02},
    {"kind": "polynomial"},
    {"kind": "polynomial", "total_iters": 80, "power": 2.5},
    {"kind": "cosine_warm_restarts", "t_0": 9},
    {"kind": "cosine_warm_restarts", "t_0": 5, "t_mult": 2, "eta_min": 0.01},
    {"kind": "cosine_warm_restarts", "t_0": 1, "t_mult": 3},
    {"kind": "one_cycle", "max_lr": 0.7, "total_steps": 100},
    {"kind": "one_cycle", "max_lr": 0.7, "total_steps": 120, "pct_start": 0.45, "anneal_strategy": "linear"},
    {"kind": "one_cycle", "max_lr": 2.0, "total_steps": 150, "div_factor": 5.0, "final_div_factor": 100.0},
    {"kind": "one_cycle", "max_lr": 0.7, "total_steps": 100, "pct_start": 0.0},
    {"kind": "one_cycle", "max_lr": 0.7, "total_steps": 100, "pct_start": 1.0},
    {"kind": "one_cycle", "max_lr": 0.7, "total_steps": 100, "cycle_momentum": False},
    {"kind": "one_cycle", "max_lr": 0.7, "total_steps": 100, "three_phase": True},
    {
        "kind": "one_cycle",
        "max_lr": 0.7,
        "total_steps": 110,
        "three_phase": True,
        "pct_start": 0.15,
        "anneal_strategy": "linear",
        "base_momentum": 0.7,
        "max_momentum": 0.99,
    },
    {"kind": "one_cycle", "max_lr": 0.7, "total_steps": 100, "three_phase": True, "pct_start": 0.6},
    {"kind": "cyclic", "base_lr": 0.01, "max_lr": 0.2, "step_size_up": 13},
    {"kind": "cyclic", "base_lr": 0.01, "max_lr": 0.2, "step_size_up": 13, "cycle_momentum": False},
    {
        "kind": "cyclic",
        "base_lr": 0.01,
        "max_lr": 0.2,
        "step_size_up": 9,
        "mode": "triangular2",
        "base_momentum": 0.3,
        "max_momentum": 0.95,
    },
    {"kind": "cyclic", "base_lr": 0.01, "max_lr": 0.2, "step_size_up": 7, "step_size_down": 12, "mode": "triangular2"},
    {"kind": "cyclic", "base_lr": 0.01, "max_lr": 0.2, "step_size_up": 5, "mode": "exp_range", "gamma": 0.98},
    {
        "kind": "sequential",
        "schedules": [
            {"kind": "constant_factor", "factor": 0.1, "total_iters": 50},
            {"kind": "exponential", "gamma": 0.9},
            {"kind": "cosine", "t_max": 30},
        ],
        "milestones": [20, 45],
    },
    {
        "kind": "sequential",
        "schedules": [{"kind": "step", "step_size": 9}, {"kind": "polynomial", "total_iters": 40, "power": 0.7}],
        "milestones": [33],
    },
    {
        "kind": "sequential",
        "schedules": [
            {"kind": "linear", "total_iters": 10},
            {"kind": "one_cycle", "total_steps": 50, "max_lr": 2.5},
            {"kind": "step", "step_size": 5},
        ],
        "milestones": [15, 60],
    },
    {
        "kind": "chained",
        "schedules": [
            {"kind": "constant_factor", "factor": 0.1, "total_iters": 20},
            {"kind": "exponential", "gamma": 0.97},
            {"kind": "multi_step", "milestones": [40, 70], "gamma": 0.4},
        ],
    },
    {
        "kind": "chained",
        "schedules": [{"kind": "linear", "total_iters": 25}, {"kind": "cosine", "t_max": 120}],
    },
    {"kind": "warm_up", "total_iters": 10, "start_factor": 0.01, "schedule": {"kind": "cosine", "t_max": 90}},
    {"kind": "warm_up", "schedule": {"kind": "cosine_warm_restarts", "t_0": 11, "t_mult": 2}},
    {"kind": "warm_up", "total_iters": 20, "schedule": {"kind": "one_cycle", "total_steps": 80, "max_lr": 2.5}},
    {"kind": "reduce_on_plateau"},
    {"kind": "reduce_on_plateau", "factor": 0.5, "patience": 3, "cooldown": 4, "threshold": 0.01},
    {"kind": "reduce_on_plateau", "factor": 0.3, "patience": 0, "threshold": 0.05, "threshold_mode": "abs"},
    {"kind": "reduce_on_plateau", "mode": "max", "factor": 0.8, "patience": 2, "min_lr": 0.02},
    {
        "kind": "reduce_on_plateau",
        "mode": "max",
        "patience": 1,
        "threshold": 0.1,
        "threshold_mode": "abs",
        "eps": 0.004,
    },
]
METRICS = [2 * math.exp(-t / 25) + 0.2 * math.sin(t * t) for t in range(STEPS)]
METRICS[10] = METRICS[55] = math.nan


def scheduler_of(optimizer: torch.optim.Optimizer, document: dict) -> torchs.LRScheduler:
    """Make PyTorch's schedule of a document."""
    options = {name: value for name, value in document.items() if name != "kind"}
    members = [scheduler_of(optimizer, member) for member in options.pop("schedules", [])]
    match document["kind"]:
        case "constant":
            return torchs.LambdaLR(optimizer, lambda _: 1.0)
        case "multiplicative":
            factor = options["factor"]
            if isinstance(factor, float):
                return torchs.MultiplicativeLR(optimizer, lambda _: factor)
            return torchs.MultiplicativeLR(optimizer, lambda t: factor[t - 1] if t <= len(factor) else 1.0)
        case "cosine":
            return torchs.CosineAnnealingLR(optimizer, options.pop("t_max"), **options)
        case "cosine_warm_restarts":
            return torchs.CosineAnnealingWarmRestarts(
                optimizer, options.pop("t_0"), options.pop("t_mult", 1), **options
            )
        case "one_cycle" | "cyclic" as kind:
            chosen = torchs.OneCycleLR if kind == "one_cycle" else torchs.CyclicLR
            return chosen(optimizer, **options)
        case "sequential":
            return torchs.SequentialLR(optimizer, members, options["milestones"])
        case "chained":
            return torchs.ChainedScheduler(members)
        case "warm_up":
            length = options.get("total_iters", 5)
            start = torchs.LinearLR(optimizer, options.get("start_factor", 1 / 3), total_iters=length)
            return torchs.SequentialLR(optimizer, [start, scheduler_of(optimizer, options["schedule"])], [length])
        case kind:
            names = {
                "step": "StepLR",
                "multi_step": "MultiStepLR",
                "constant_factor": "ConstantLR",
                "linear": "LinearLR",
                "exponential": "ExponentialLR",
                "polynomial": "PolynomialLR",
                "reduce_on_plateau": "ReduceLROnPlateau",
            }
            return getattr(torchs, names[kind])(optimizer, **options)


def trajectory(document: dict) -> dict:
    """Run a schedule for a hundred steps: rate and momentum before each; null for a momentum that is not cycled."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=BASE)
    scheduler = scheduler_of(optimizer, document)
    rates, momenta = [], []
    for metric in METRICS:
        rates.append(float(optimizer.param_groups[0]["lr"]))
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if len(rates) < STEPS:
            scheduler.step(*[metric] if document["kind"] == "reduce_on_plateau" else [])
    return {"document": document, "rates": rates, "momenta": momenta if any(momenta) else None}


def main() -> None:
    """Write the file: metrics that are not numbers are null."""
    metrics = [None if math.isnan(metric) else metric for metric in METRICS]
    runs = [trajectory(document) for document in SCHEDULES]
    golden = {"torch": torch.__version__, "base": BASE, "metrics": metrics, "runs": runs}
    PATH.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
