"""Functions of one number that have a form for most numbers, which vectorises, and another one for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.execution.native.inline.pointers import view
from engine.execution.native.kernel import Kernel, itemsize, real
from engine.execution.native.kernels.elementwise import FIRST, OUT

PIECE = 1024
"""Numbers that are checked together."""


def by_range(a: Any) -> None:
    """Apply a function of one number; words as of `unary`."""
    n = a[3]
    for i in range(a[0]):
        for j in range(a[1]):
            for k in range(a[2]):
                out = a[OUT] + i * a[OUT + 1] + j * a[OUT + 2] + k * a[OUT + 3]
                x = a[FIRST] + i * a[FIRST + 1] + j * a[FIRST + 2] + k * a[FIRST + 3]
                if a[OUT + 4] != itemsize or a[FIRST + 4] != itemsize:
                    for e in range(n):
                        number = np.float64(view(x + e * a[FIRST + 4], 1, real)[0])
                        found = near(number) if is_near(number) else far(number)
                        view(out + e * a[OUT + 4], 1, real)[0] = real(found)
                    continue
                for start in range(0, n, PIECE):
                    count = min(PIECE, n - start)
                    xs, ys = view(x + start * itemsize, count, real), view(out + start * itemsize, count, real)
                    others = 0
                    for e in range(xs.size):
                        others += 0 if is_near(xs[e]) else 1
                    if others:
                        for e in range(count):
                            number = np.float64(xs[e])
                            ys[e] = real(near(number) if is_near(number) else far(number))
                    elif x == out:  # a loop of its own: what may overlap is processed one by one
                        for e in range(ys.size):
                            ys[e] = real(near(np.float64(ys[e])))
                    else:
                        for e in range(ys.size):
                            ys[e] = real(near(np.float64(xs[e])))


def is_near(x: Any) -> Any:
    """Stand for whether a number is one of most."""
    raise NotImplementedError


def near(x: Any) -> Any:
    """Stand for the function of such a float64."""
    raise NotImplementedError


def far(x: Any) -> Any:
    """Stand for the function of any float64."""
    raise NotImplementedError


def ranged(name: str, is_near: Callable[[Any], Any], near: Callable[[Any], Any], far: Callable[[Any], Any]) -> Kernel:
    """Return the kernel of a function that is `near` of most numbers, `far` of any."""
    return Kernel(by_range, name=name, parts={"is_near": is_near, "near": near, "far": far})
