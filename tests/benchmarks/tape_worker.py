"""One side of the tape benchmark: measures ops of one library on demand. Run as `tape_worker.py adjoint|torch`.

It reads one line a measurement from standard input, `OP REPEATS`, and answers with seconds per op on standard output.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SHAPE = (8, 8)
CHAIN = 50
"""Ops one after another between two backward passes, so that the cost of starting a pass is shared."""

OPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, w: x + w,
    "mul": lambda x, w: x * w,
    "tanh": lambda x, w: x.tanh(),
    "relu": lambda x, w: x.relu(),
    "matmul": lambda x, w: x @ w,
    "exp": lambda x, w: x.exp(),
    "sum + add": lambda x, w: x + x.sum(),
}


def main(library: str) -> None:
    """Answer requests until standard input ends."""
    rng = np.random.default_rng(0)
    x, w, seed = (rng.standard_normal(SHAPE).astype(np.float32) * 0.1 for _ in range(3))
    measure = _adjoint(x, w, seed) if library == "adjoint" else _torch(x, w, seed)
    print("ready", flush=True)
    for line in sys.stdin:
        name, chain, repeats = line.rsplit(" ", 2)
        step = measure(OPS[name], int(chain))
        step()
        start = time.perf_counter()
        for _ in range(int(repeats)):
            step()
        print((time.perf_counter() - start) / int(repeats) / int(chain), flush=True)


def _adjoint(x: Any, w: Any, seed: Any) -> Callable[..., Callable[[], object]]:
    import engine

    leaf, other, start = engine.tensor(x, requires_grad=True), engine.tensor(w, requires_grad=True), engine.tensor(seed)

    def measure(op: Callable[[Any, Any], Any], chain: int) -> Callable[[], object]:
        def step() -> object:
            y = leaf
            for _ in range(chain):
                y = op(y, other)
            return engine.tape.grad(y, (leaf, other), start, allow_unused=True)

        return step

    return measure


def _torch(x: Any, w: Any, seed: Any) -> Callable[..., Callable[[], object]]:
    import torch

    torch.set_num_threads(1)
    leaf, other, start = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True), torch.tensor(seed)

    def measure(op: Callable[[Any, Any], Any], chain: int) -> Callable[[], object]:
        def step() -> object:
            y = leaf
            for _ in range(chain):
                y = op(y, other)
            return torch.autograd.grad(y, (leaf, other), start, allow_unused=True)

        return step

    return measure


if __name__ == "__main__":
    main(sys.argv[1])
