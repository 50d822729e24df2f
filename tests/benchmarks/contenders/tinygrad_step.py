"""tinygrad: a jitted step on the CPU, of MLPs and convolutional networks. It needs clang on the path."""

from __future__ import annotations

import argparse
import shutil
from functools import partial
from importlib.metadata import version
from typing import Any

from tests.benchmarks.families import Columns, ConvNet
from tests.benchmarks.protocol import Make, Missing, Steps, serve
from tests.benchmarks.workloads import POOL, Workload, is_plain_mlp


class TinygradStep(Steps):
    """Forward, backward and optimizer as one graph, captured in the first steps."""

    setting = "TinyJit"

    def __init__(self, workload: Workload, weights: Columns) -> None:
        """Set up; kernels are compiled by the first steps."""
        from tinygrad import Context, Tensor, TinyJit, nn

        self.version = version("tinygrad")
        self._training = partial(Context, TRAINING=1)
        tensors = {name: Tensor(array).is_param_().realize() for name, array in weights.items()}
        kind = {"adam": nn.optim.Adam, "adamw": nn.optim.AdamW}[workload.optimizer]
        options = {"weight_decay": workload.decay} if workload.decay else {}
        optimizer = kind(list(tensors.values()), lr=workload.lr, eps=1e-8, **options)
        family = workload.model

        def scores(x: Any) -> Any:
            if isinstance(family, ConvNet):
                for place in range(len(family.channels)):
                    weight, bias = tensors[f"conv2d_{place}.weight"], tensors[f"conv2d_{place}.bias"]
                    x = x.conv2d(weight, bias, padding=1).relu().max_pool2d(2)
                return x.flatten(1).linear(tensors["linear_0.weight"].T, tensors["linear_0.bias"])
            depth = len(weights) // 2
            for place in range(depth):
                x = x.linear(tensors[f"linear_{place}.weight"].T, tensors[f"linear_{place}.bias"])
                x = x.relu() if place < depth - 1 else x
            return x

        def step(x: Any, label: Any) -> Any:
            optimizer.zero_grad()
            loss = scores(x).sparse_categorical_crossentropy(label).backward()
            return loss.realize(*optimizer.schedule_step())

        self._update = TinyJit(step)
        self._batches = [
            (Tensor(batch["x"]).realize(), Tensor(batch["label"].astype("int32")).realize())
            for batch in workload.batches()
        ]
        self._step = 0

    def run(self, steps: int) -> tuple[int, float]:
        """Step along the pool."""
        loss = None
        with self._training():
            for _ in range(steps):
                loss = self._update(*self._batches[self._step % POOL])
                self._step += 1
        return steps, float("nan") if loss is None else float(loss.item())


def build(workload: Workload, weights: Columns, arguments: argparse.Namespace) -> list[Make]:
    """Offer what is written for it."""
    if not is_plain_mlp(workload) and not isinstance(workload.model, ConvNet):
        raise Missing("only MLPs with ReLU and convolutional networks")
    if workload.dtype != "float32" or workload.mixed:
        raise Missing("its optimizers keep float32")
    if shutil.which("clang") is None:
        raise Missing("it compiles by clang, which is not installed")
    return [lambda: TinygradStep(workload, weights)]


if __name__ == "__main__":
    serve(build)
