"""mygrad: a NumPy tape with PyTorch's manners, here of MLPs."""

from __future__ import annotations

import argparse
from importlib.metadata import version

from tests.benchmarks.contenders.numpy_adam import NumpyAdam
from tests.benchmarks.families import Columns
from tests.benchmarks.protocol import Make, Missing, Steps, serve
from tests.benchmarks.workloads import POOL, Workload, is_plain_mlp


class MygradStep(Steps):
    """A step on tensors, weights stored [in, out]."""

    setting = "Adam in NumPy, in place, memory not guarded"

    def __init__(self, workload: Workload, weights: Columns) -> None:
        """Set up the tensors."""
        import mygrad
        from mygrad.nnet.losses import softmax_crossentropy

        mygrad.turn_memory_guarding_off()
        self.version = version("mygrad")
        self._matmul, self._relu, self._entropy = mygrad.matmul, mygrad.nnet.activations.relu, softmax_crossentropy
        self._tensors = [mygrad.tensor(a.T.copy() if a.ndim == 2 else a.copy()) for a in weights.values()]
        self._adam = NumpyAdam(workload, [tensor.data for tensor in self._tensors])
        self._batches = workload.batches()
        self._step = 0

    def run(self, steps: int) -> tuple[int, float]:
        """Step along the pool."""
        loss = None
        for _ in range(steps):
            batch = self._batches[self._step % POOL]
            self._step += 1
            *hidden, last = zip(self._tensors[::2], self._tensors[1::2], strict=True)
            x = batch["x"]
            for weight, bias in hidden:
                x = self._relu(self._matmul(x, weight) + bias)
            loss = self._entropy(self._matmul(x, last[0]) + last[1], batch["label"])
            loss.backward()
            self._adam.step([tensor.grad for tensor in self._tensors])
        return steps, float("nan") if loss is None else loss.item()


def build(workload: Workload, weights: Columns, arguments: argparse.Namespace) -> list[Make]:
    """Offer MLPs."""
    if not is_plain_mlp(workload):
        raise Missing("only MLPs with ReLU")
    return [lambda: MygradStep(workload, weights)]


if __name__ == "__main__":
    serve(build)
