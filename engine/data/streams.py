"""Random streams of a fit's data, each a pure function of seed and epoch."""

from __future__ import annotations

import numpy as np

SPLIT_STREAM = 0x5B17
ORDER_STREAM = 0x0DE4
SAMPLE_STREAM = 0x5A3B


def generator(seed: int, stream: int, epoch: int) -> np.random.Generator:
    """Return the generator of a stream for one epoch (counted from 0); the same numbers on every machine."""
    return np.random.Generator(np.random.Philox(key=[seed, stream], counter=[0, 0, 0, epoch]))
