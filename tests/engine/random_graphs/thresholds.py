"""From which sizes on plans do things in another way: as they are, or smaller, so that small programs do so too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from unittest.mock import patch

from engine.core import sharding_rules
from engine.execution.native import executor
from engine.execution.native.kernels import chains, tiled_convolution
from engine.execution.native.thread_pool import ThreadPool
from engine.execution.plan import sharding

THREADS = 3


@cache
def _thread_pool() -> ThreadPool:
    """Return a team that lends as many threads as are asked for, whatever cores there are."""
    return ThreadPool(THREADS)


@dataclass(frozen=True)
class Thresholds:
    """Sizes, see the constants of those names.

    Attributes:
        block: bytes of an operand that a chain goes through at a time.
        apart: elements from which on a step on whole values is done in parts.
        joined_apart: elements from which on summands are added up in parts.
        worthwhile: operations from which on there are 2 shards; there are 4 from four times as many on, 8 from 16.
        gain: by how much convolutions by tiles have to be faster; all that can go by tiles do if it is 0.
    """

    block: int = chains.BLOCK
    apart: int = sharding_rules.LEAST_ELEMENTS
    split_sum_elements: int = sharding.SPLIT_SUM_ELEMENTS
    worthwhile: float = sharding.WORTHWHILE
    gain: float = tiled_convolution.GAIN

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Plan and run with them, and by up to three threads."""
        count = self.worthwhile
        with ExitStack() as stack:
            if self != Thresholds():
                stack.enter_context(patch.object(chains, "BLOCK", self.block))
                stack.enter_context(patch.object(sharding_rules, "LEAST_ELEMENTS", self.apart))
                stack.enter_context(patch.object(sharding, "SPLIT_SUM_ELEMENTS", self.split_sum_elements))
                stack.enter_context(patch.object(sharding, "WORTHWHILE", count))
                stack.enter_context(patch.object(sharding, "MORE_SHARDS", ((4 * count, 4), (16 * count, 8))))
                stack.enter_context(patch.object(tiled_convolution, "GAIN", self.gain))
            stack.enter_context(patch.object(executor, "thread_pool", _thread_pool))
            yield


def random_thresholds(seed: object) -> Thresholds:
    """Choose the thresholds of a seed: those in force for every third."""
    draw = random.Random(f"thresholds {seed}")
    if draw.random() < 1 / 3:
        return Thresholds()
    return Thresholds(
        block=draw.choice((256, 1024, 4096, 16384)),
        apart=draw.choice((64, 1024, 2**15)),
        split_sum_elements=draw.choice((16, 256, 4096)),
        worthwhile=draw.choice((1e2, 1e3, 1e4, 1e5)),
        gain=draw.choice((0, tiled_convolution.GAIN)),
    )
