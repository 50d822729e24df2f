"""Writes the trajectories of PyTorch's LBFGS that the tests compare with: run it with a Python that has torch.

python tests/engine/optim/make_lbfgs_golden.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch

PATH = Path(__file__).parent / "golden" / "lbfgs.json"
STEPS = 20
WOLFE = {"line_search": "strong_wolfe"}
RUNS = [
    ("rosenbrock", {}),
    ("rosenbrock", {"lr": 0.3, "max_iter": 5}),
    ("rosenbrock", {"lr": 0.3, "max_iter": 5, "max_eval": 3, "history_size": 3}),
    ("rosenbrock", WOLFE),
    ("rosenbrock", {**WOLFE, "max_iter": 3, "history_size": 5}),
    ("rosenbrock", {**WOLFE, "max_iter": 2, "max_eval": 2, "lr": 0.3}),
    ("logistic", {}),
    ("logistic", {"lr": 0.7, "max_iter": 3, "history_size": 2}),
    ("logistic", WOLFE),
    ("logistic", {**WOLFE, "max_iter": 2, "tolerance_grad": 1e-3, "lr": 4.0}),
    ("logistic", {**WOLFE, "max_iter": 6, "tolerance_change": 1e-2}),
    ("perceptron", {"lr": 0.4, "max_iter": 3}),
    ("perceptron", {"lr": 0.2, "max_iter": 3, "history_size": 10}),
    ("perceptron", {**WOLFE, "max_iter": 2}),
    ("perceptron", {**WOLFE, "max_iter": 2, "history_size": 3}),
    ("perceptron", {**WOLFE, "max_iter": 3, "max_eval": 4, "lr": 0.5}),
]
"""Runs in which a start that differs by one rounding gives parameters within 1e-10 to the end."""

HIDDEN = 4


def waves(*shape: int, start: float = 0.0) -> torch.Tensor:
    """Numbers that every machine makes alike: sines of the counting numbers, to six places."""
    count = int(torch.tensor(shape).prod())
    return torch.round(torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + start), decimals=6).reshape(shape)


def rosenbrock(p: torch.Tensor) -> torch.Tensor:
    """The banana-shaped valley, over consecutive pairs."""
    a, b = p[:-1], p[1:]
    return (100 * (b - a * a) ** 2 + (1 - a) ** 2).sum()


def logistic(p: torch.Tensor) -> torch.Tensor:
    """A logistic regression of 30 rows with a ridge."""
    x = waves(30, 5)
    y = (x @ torch.tensor([3.0, -2.0, 1.0, 0.5, -1.0]).double() + waves(30, start=0.4) > 0).double()
    return torch.nn.functional.binary_cross_entropy_with_logits(x @ p, y) + 1e-3 * (p * p).sum()


def perceptron(p: torch.Tensor) -> torch.Tensor:
    """A regression of 20 rows by one hidden layer."""
    x, y = waves(20, 3), waves(20, start=1.3) ** 2
    split = [3 * HIDDEN, HIDDEN, HIDDEN, 1]
    w, b, v, c = p.split(split)
    return ((torch.tanh(x @ w.reshape(3, HIDDEN) + b) @ v + c - y) ** 2).mean() + 1e-2 * (p * p).sum()


PROBLEMS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], list[float]]] = {
    "rosenbrock": (rosenbrock, [0.5, 0.6, 0.4]),
    "logistic": (logistic, [0.0] * 5),
    "perceptron": (perceptron, waves(5 * HIDDEN + 1, start=0.9).tolist()),
}


def trajectory(problem: str, options: dict) -> dict:
    """Run LBFGS: after each step the loss at its start, the parameters, and the counts so far."""
    lossy, start = PROBLEMS[problem]
    p = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    renamed = {{"line_search": "line_search_fn"}.get(name, name): value for name, value in options.items()}
    optimizer = torch.optim.LBFGS([p], **renamed)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = lossy(p)
        loss.backward()
        return loss

    steps = []
    for _ in range(STEPS):
        loss = optimizer.step(closure).item()
        state = optimizer.state[p]
        steps.append({"loss": loss, "p": p.tolist(), "n": [state["n_iter"], state["func_evals"]]})
    return {"problem": problem, "options": options, "steps": steps}


def main() -> None:
    """Write the file."""
    problems = {name: start for name, (_, start) in PROBLEMS.items()}
    golden = {"torch": torch.__version__, "problems": problems, "runs": [trajectory(*run) for run in RUNS]}
    PATH.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
