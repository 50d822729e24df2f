"""What this machine can do at most: multiply matrices, and stream arrays. Run as `python -m tests.benchmarks.peaks`.

It prints one JSON object: operations a second by dtype, bytes a second by the size of what is streamed through, and
what the machine is.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

SIZES = (512, 1024, 2048)
STREAMED = tuple(2**exponent for exponent in range(14, 29, 2))
REPEATS = 7
LONGEST_S = 0.2
"""A call that takes longer is not repeated, nor are larger matrices multiplied: bfloat16 may have no instructions."""
TORCH_DTYPES = ("float32", "float64", "bfloat16")


def product_rate(dtype: str) -> float:
    """Return the most operations a second that NumPy's matrix product reached."""

    def seconds(size: int) -> float:
        a, b, out = (np.ones((size, size), dtype) for _ in range(3))
        return _quickest(lambda: np.matmul(a, b, out=out))

    return _best_rate(seconds)


def torch_product_rate(dtype: str, threads: int) -> float:
    """Return the most operations a second that PyTorch's matrix product reached."""
    import torch  # of the peers' environment

    torch.set_num_threads(threads)

    def seconds(size: int) -> float:
        a, b, out = (torch.ones(size, size, dtype=getattr(torch, dtype)) for _ in range(3))
        return _quickest(lambda: torch.matmul(a, b, out=out))

    return _best_rate(seconds)


def stream_rate(size: int, threads: int) -> float:
    """Return bytes a second, read and written, of threads that add arrays of together `size` bytes."""
    length = max(size // threads // 12, 64)
    arrays = [[np.ones(length, np.float32) for _ in range(3)] for _ in range(threads)]
    passes = max(1, 2**22 // size)

    def stream(a: Any, b: Any, out: Any) -> None:
        for _ in range(passes):
            np.add(a, b, out=out)

    with ThreadPoolExecutor(threads) as pool:
        taken = _quickest(lambda: [task.result() for task in [pool.submit(stream, *of) for of in arrays]])
    alone = _quickest(lambda: stream(*arrays[0]))
    moved = 12 * length * passes
    return max(moved * threads / taken, moved / alone)


def _best_rate(seconds: Callable[[int], float]) -> float:
    """Return the most operations a second over products of square matrices, given what one of a size takes."""
    best = 0.0
    for size in SIZES:
        taken = seconds(size)
        best = max(best, 2 * size**3 / taken)
        if taken > LONGEST_S:
            break
    return best


def _quickest(call: Callable[[], Any]) -> float:
    """Return the seconds of the quickest of several calls; the first one counts only if it takes long."""
    taken: list[float] = []
    while len(taken) <= REPEATS and not (taken and taken[-1] > LONGEST_S):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken[1:] or taken)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--torch", action="store_true", help="multiply by PyTorch, and stream nothing")
    arguments = parser.parse_args()
    if arguments.torch:
        products = {dtype: torch_product_rate(dtype, arguments.threads) for dtype in TORCH_DTYPES}
        print(json.dumps({"products": products}))
        return
    # Imports the engine, which the peers' environment cannot.
    from tests.benchmarks.machine import machine

    products = {dtype: product_rate(dtype) for dtype in ("float32", "float64")}
    streams = {size: stream_rate(size, arguments.threads) for size in STREAMED}
    print(json.dumps({"products": products, "streams": streams, "machine": machine()}))


if __name__ == "__main__":
    main()
