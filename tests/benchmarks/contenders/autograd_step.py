"""autograd (HIPS): gradients by tracing NumPy, here of MLPs."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import Any

from tests.benchmarks.contenders.numpy_adam import NumpyAdam
from tests.benchmarks.families import Array, Columns
from tests.benchmarks.protocol import Make, Missing, Steps, serve
from tests.benchmarks.workloads import POOL, Workload, is_plain_mlp


class AutogradStep(Steps):
    """A step on a list of weights, stored [in, out], and biases."""

    setting = "Adam in NumPy, in place"

    def __init__(self, workload: Workload, weights: Columns) -> None:
        """Set up the loss."""
        import autograd.numpy as np
        from autograd import value_and_grad

        self.version = version("autograd")
        self._weights = [a.T.copy() if a.ndim == 2 else a.copy() for a in weights.values()]
        self._adam = NumpyAdam(workload, self._weights)
        self._batches = workload.batches()
        self._step = 0

        def loss(weights: list[Array], x: Any, label: Array) -> Any:
            *hidden, last = zip(weights[::2], weights[1::2], strict=True)
            for weight, bias in hidden:
                x = np.maximum(np.dot(x, weight) + bias, 0)
            scores = np.dot(x, last[0]) + last[1]
            scores = scores - np.max(scores, axis=1, keepdims=True)
            picked = scores[np.arange(len(label)), label]
            return np.mean(np.log(np.sum(np.exp(scores), axis=1)) - picked)

        self._derive = value_and_grad(loss)

    def run(self, steps: int) -> tuple[int, float]:
        """Step along the pool."""
        loss = 0.0
        for _ in range(steps):
            batch = self._batches[self._step % POOL]
            self._step += 1
            loss, gradients = self._derive(self._weights, batch["x"], batch["label"])
            self._adam.step(gradients)
        return steps, float(loss)


def build(workload: Workload, weights: Columns, arguments: argparse.Namespace) -> list[Make]:
    """Offer MLPs."""
    if not is_plain_mlp(workload):
        raise Missing("only MLPs with ReLU")
    return [lambda: AutogradStep(workload, weights)]


if __name__ == "__main__":
    serve(build)
