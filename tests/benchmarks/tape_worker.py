"""One side of the tape benchmark: measures ops of one library on demand. Run as `tape_worker.py adjoint|torch|numpy`.

It reads one line a measurement from standard input, `OP CHAIN REPEATS`, and answers with seconds of CPU per op.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SHAPE = (8, 8)
CHAIN = 50
"""Links one after another between two backward passes, so that the cost of starting a pass is shared."""

OPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, w: x + w,
    "mul": lambda x, w: x * w,
    "tanh": lambda x, w: x.tanh(),
    "relu": lambda x, w: x.relu(),
    "exp": lambda x, w: x.exp(),
    "matmul": lambda x, w: x @ w,
    "sum + add": lambda x, w: x + x.sum(),
    "mixed": lambda x, w: (x @ w + w).tanh() * w,
}
"""The links: the next value, of a value and the other leaf."""
OPS_IN = {"sum + add": 2, "mixed": 4}
"""How many ops a link has; one, where it is not here."""

Step = Callable[[str, int], object]


def main(library: str) -> None:
    """Answer requests until standard input ends."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(SHAPE).astype(np.float32) * 0.1 for _ in range(3)]
    step = {"adjoint": _adjoint, "torch": _torch, "numpy": _numpy}[library](*arrays)
    print("ready", flush=True)
    for line in sys.stdin:
        name, links, repeats = line.rsplit(" ", 2)
        step(name, int(links))
        start = time.process_time()
        for _ in range(int(repeats)):
            step(name, int(links))
        ops = int(repeats) * int(links) * OPS_IN.get(name, 1)
        print((time.process_time() - start) / ops, flush=True)


def _adjoint(x: Any, w: Any, seed: Any) -> Step:
    import engine

    leaves = (engine.tensor(array, requires_grad=True) for array in (x, w))
    return _differentiate(*leaves, engine.tensor(seed), engine.tape.grad)


def _torch(x: Any, w: Any, seed: Any) -> Step:
    import torch

    torch.set_num_threads(1)
    leaves = (torch.tensor(array, requires_grad=True) for array in (x, w))
    return _differentiate(*leaves, torch.tensor(seed), torch.autograd.grad)


def _differentiate(leaf: Any, other: Any, seed: Any, grad: Callable[..., object]) -> Step:
    def step(name: str, links: int) -> object:
        op, y = OPS[name], leaf
        for _ in range(links):
            y = op(y, other)
        return grad(y, (leaf, other), seed, allow_unused=True)

    return step


def _numpy(x: Any, w: Any, seed: Any) -> Step:
    """Return the floor of a tape in Python: the same arrays, computed by straight lines of NumPy's calls."""

    def step(name: str, links: int) -> object:
        forward, backward = BY_HAND[name]
        y, saved = x, []
        for _ in range(links):
            before, y = y, forward(y, w, saved)
            saved.append((before, y))
        g, total = seed, None
        for _ in range(links):
            before, after = saved.pop()
            g, part = backward(g, before, after, w, saved)
            if part is not None:
                total = part if total is None else total + part
        return g, total

    return step


def _mixed(x: Any, w: Any, saved: list[Any]) -> Any:
    y = np.tanh(x @ w + w)
    saved.append(y)
    return y * w


def _mixed_backward(g: Any, x: Any, y: Any, w: Any, saved: list[Any]) -> Any:
    inner = saved.pop()
    slope = g * w * (1 - inner * inner)
    return slope @ w.T, g * inner + slope + x.T @ slope


BY_HAND: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda x, w, _: x + w, lambda g, x, y, w, _: (g, g)),
    "mul": (lambda x, w, _: x * w, lambda g, x, y, w, _: (g * w, g * x)),
    "tanh": (lambda x, w, _: np.tanh(x), lambda g, x, y, w, _: (g * (1 - y * y), None)),
    "relu": (lambda x, w, _: np.maximum(x, 0), lambda g, x, y, w, _: (g * (y > 0), None)),
    "exp": (lambda x, w, _: np.exp(x), lambda g, x, y, w, _: (g * y, None)),
    "matmul": (lambda x, w, _: x @ w, lambda g, x, y, w, _: (g @ w.T, x.T @ g)),
    "sum + add": (lambda x, w, _: x + x.sum(), lambda g, x, y, w, _: (g + g.sum(), None)),
    "mixed": (_mixed, _mixed_backward),
}
"""Forward and backward of a link, as one would write them for these shapes."""


if __name__ == "__main__":
    main(sys.argv[1])
