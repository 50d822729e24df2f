"""Adam and AdamW in NumPy, in place, for libraries that have gradients but no optimizer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.benchmarks.families import Array
from tests.benchmarks.workloads import Workload


class NumpyAdam:
    """Steps arrays by their gradients."""

    def __init__(self, workload: Workload, parameters: Sequence[Array]) -> None:
        """Step `parameters`, whose memory stays theirs."""
        self._lr, self._decay = workload.lr, workload.decay
        self._parameters = parameters
        self._first, self._second, self._work = ([np.zeros_like(p) for p in parameters] for _ in range(3))
        self._step = 0

    def step(self, gradients: Sequence[Array]) -> None:
        """Take one step."""
        self._step += 1
        rate = self._lr / (1 - 0.9**self._step)
        spread = (1 - 0.999**self._step) ** -0.5
        for p, g, m, v, work in zip(self._parameters, gradients, self._first, self._second, self._work, strict=True):
            np.multiply(g, 0.1, out=work)
            m *= 0.9
            m += work
            np.multiply(g, g, out=work)
            work *= 0.001
            v *= 0.999
            v += work
            np.sqrt(v, out=work)
            work *= spread
            work += 1e-8
            np.divide(m, work, out=work)
            work *= rate
            if self._decay:
                p *= 1 - self._lr * self._decay
            p -= work
