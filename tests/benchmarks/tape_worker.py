"""One side of the tape benchmark: measures ops of one library on demand. Run as `tape_worker.py adjoint|torch`.

It reads one line a measurement from standard input, `OP CHAIN REPEATS`, and answers with seconds per op.
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
    "exp": lambda x, w: x.exp(),
    "matmul": lambda x, w: x @ w,
    "sum + add": lambda x, w: x + x.sum(),
}


def main(library: str) -> None:
    """Answer requests until standard input ends."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(SHAPE).astype(np.float32) * 0.1 for _ in range(3)]
    leaf, other, seed, grad = {"adjoint": _adjoint, "torch": _torch}[library](*arrays)

    def step(op: Callable[[Any, Any], Any], chain: int) -> object:
        y = leaf
        for _ in range(chain):
            y = op(y, other)
        return grad(y, (leaf, other), seed, allow_unused=True)

    print("ready", flush=True)
    for line in sys.stdin:
        name, chain, repeats = line.rsplit(" ", 2)
        step(OPS[name], int(chain))
        start = time.perf_counter()
        for _ in range(int(repeats)):
            step(OPS[name], int(chain))
        print((time.perf_counter() - start) / int(repeats) / int(chain), flush=True)


def _adjoint(x: Any, w: Any, seed: Any) -> tuple[Any, ...]:
    import engine

    leaves = (engine.tensor(array, requires_grad=True) for array in (x, w))
    return *leaves, engine.tensor(seed), engine.tape.grad


def _torch(x: Any, w: Any, seed: Any) -> tuple[Any, ...]:
    import torch

    torch.set_num_threads(1)
    leaves = (torch.tensor(array, requires_grad=True) for array in (x, w))
    return *leaves, torch.tensor(seed), torch.autograd.grad


if __name__ == "__main__":
    main(sys.argv[1])
