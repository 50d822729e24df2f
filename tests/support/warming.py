"""What a process does once, so that those forked from it need not: each small fit would spend half its time on it."""

from pathlib import Path

import numpy as np

import engine
from engine.execution.native.compilation import COMMON

_NETWORK = {
    "inputs": {"x": ["batch", 2], "y": ["batch"]},
    "parameters": {"w": [2], "c": []},
    "program": "pred = x @ w + c\nloss = mean((pred - y) ** 2)",
    "outputs": ["pred"],
}
_RECIPE = {"optimizer": {"kind": "sgd", "lr": 0.01}, "epochs": 1, "batch_size": 4, "seed": 1}


def load_kernels() -> None:
    """Load the compiler, and the machine code that common models need, as far as it is on disk."""
    if engine.why_native_unusable():
        return
    from engine.execution.native.code_folder import kept_code  # imports numba
    from engine.execution.native.kernel import KERNELS

    kept = kept_code()
    for kernel in KERNELS:
        for dtype in kernel.dtypes:
            if f"{kernel.name}_{dtype.name}" in COMMON and kernel.code_name(dtype) in kept:
                kernel.address(dtype)


def train_once() -> None:
    """Train a small network: what the engine derives from its declarations at their first use is derived then."""
    columns = {"x": np.ones((8, 2)), "y": np.ones(8)}
    fit = engine.Fit(
        engine.parse_graph(_NETWORK), engine.read_recipe(_RECIPE), columns, execution=engine.Execution(threads=1)
    )
    try:
        while not fit.done:
            fit.advance()
    finally:
        fit.close()
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a process that is to be forked must have one thread"
