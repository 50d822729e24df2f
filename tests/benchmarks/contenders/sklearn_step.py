"""scikit-learn: MLPClassifier.partial_fit, one batch a call."""

from __future__ import annotations

import argparse

import numpy as np

from tests.benchmarks.families import Columns, Mlp
from tests.benchmarks.protocol import Make, Missing, Steps, serve
from tests.benchmarks.workloads import POOL, Workload, is_plain_mlp

EPSILON = 1e-9
"""It is added before the second moment is corrected: 1e-8 behind that, as others do, is about this here."""


class SklearnStep(Steps):
    """A classifier whose weights are set to the first ones; it has Adam alone, so decay is added after each step."""

    setting = "partial_fit"

    def __init__(self, workload: Workload, weights: Columns, widths: tuple[int, ...]) -> None:
        """Set up the classifier; it makes its arrays in a first call, and then a new optimizer for them."""
        import sklearn
        from sklearn.neural_network import MLPClassifier

        self.version = sklearn.__version__
        self._decay = 1 - workload.lr * workload.decay
        self._batches = workload.batches()
        self._network = MLPClassifier(
            widths[1:-1], solver="adam", alpha=0.0, batch_size=workload.batch, learning_rate_init=workload.lr,
            random_state=0, shuffle=False, epsilon=EPSILON,
        )  # fmt: skip
        first = self._batches[0]
        self._network.partial_fit(first["x"], first["label"], classes=np.arange(widths[-1]))
        self._optimizer_anew(weights)
        self._step = 0

    def _optimizer_anew(self, weights: Columns) -> None:
        arrays = list(weights.values())
        network = self._network
        for place in range(len(network.coefs_)):
            network.coefs_[place][...] = arrays[2 * place].T
            network.intercepts_[place][...] = arrays[2 * place + 1]
        optimizer = network._optimizer
        optimizer.t = 0
        for moment in (*optimizer.ms, *optimizer.vs):
            moment[...] = 0

    def run(self, steps: int) -> tuple[int, float]:
        """Step along the pool."""
        for _ in range(steps):
            batch = self._batches[self._step % POOL]
            self._step += 1
            if self._decay != 1:
                for array in (*self._network.coefs_, *self._network.intercepts_):
                    array *= self._decay
            self._network.partial_fit(batch["x"], batch["label"])
        return steps, float(self._network.loss_)


def build(workload: Workload, weights: Columns, arguments: argparse.Namespace) -> list[Make]:
    """Offer MLPs."""
    if not isinstance(workload.model, Mlp) or not is_plain_mlp(workload):
        raise Missing("only MLPs with ReLU")
    widths = workload.model.widths
    if widths[-1] == 2:
        raise Missing("two classes would have one output")
    return [lambda: SklearnStep(workload, weights, widths)]


if __name__ == "__main__":
    serve(build)
