"""PyTorch, eager or compiled, by the fastest of its optimizers and numbers of threads."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tests.benchmarks.contenders.torch_models import module
from tests.benchmarks.contenders.torch_probabilistic import evidence_bound, marginal_likelihood, mixture
from tests.benchmarks.families import Columns, Mlp
from tests.benchmarks.protocol import Make, Missing, Steps, serve
from tests.benchmarks.workloads import POOL, Workload


class TorchStep(Steps):
    """The usual loop: forward, backward, optimizer, gradients set to None."""

    version = torch.__version__

    def __init__(
        self, workload: Workload, weights: Columns, threads: int, optimizer: str, *, compiled: tuple[str, ...] = ()
    ) -> None:
        """Set up; `compiled` are the parts that are compiled: "loss", "optimizer"."""
        self.setting = ", ".join(
            [f"{threads} threads", f"{optimizer} optimizer", *(f"{part} compiled" for part in compiled)]
        )
        self._threads = threads
        torch.set_num_threads(threads)
        parameters, self._loss = loss_of(workload, weights)
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[workload.optimizer]
        options: dict[str, Any] = {"lr": workload.lr, "weight_decay": workload.decay, optimizer: True}
        self._optimizer = kind(parameters, **options)
        self._update: Callable[[], Any] = self._optimizer.step
        if "loss" in compiled:
            self._loss = torch.compile(self._loss)
        if "optimizer" in compiled:
            self._update = torch.compile(self._optimizer.step)
        self._batches = [{n: torch.from_numpy(a) for n, a in batch.items()} for batch in workload.batches()]
        self._step = 0

    def run(self, steps: int) -> tuple[int, float]:
        """Step along the pool."""
        torch.set_num_threads(self._threads)
        loss = torch.zeros(())
        for batch in self._next(steps):
            loss = self._loss(**batch)
            loss.backward()
            self._update()
            self._optimizer.zero_grad(set_to_none=True)
        return steps, loss.item()

    def _next(self, steps: int) -> Iterator[dict[str, Tensor]]:
        for _ in range(steps):
            yield self._batches[self._step % POOL]
            self._step += 1


def loss_of(workload: Workload, weights: Columns) -> tuple[list[Tensor], Callable[..., Tensor]]:
    """Return the parameters, and the loss of a batch given by column."""
    if workload.copies > 1:
        return many_mlps(workload, weights)
    model = module(workload.model, weights)

    def ctc(created: tuple[Tensor, Tensor], label: Tensor) -> Tensor:
        log_probs, lengths = created
        steps = torch.full_like(lengths, log_probs.shape[0])
        return functional.ctc_loss(log_probs, label, steps, lengths)

    measure: Callable[[Any, Tensor], Tensor] = {
        "cross_entropy": functional.cross_entropy,
        "binary_cross_entropy_with_logits": functional.binary_cross_entropy_with_logits,
        "ctc_loss": ctc,
        "mse": functional.mse_loss,
        "marginal_likelihood": marginal_likelihood,
        "mixture": mixture,
        "evidence_bound": evidence_bound,
    }[workload.model.loss]

    def loss(label: Tensor, **inputs: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=workload.mixed):
            return measure(model(*inputs.values()), label)

    return list(model.parameters()), loss


def many_mlps(workload: Workload, weights: Columns) -> tuple[list[Tensor], Callable[..., Tensor]]:
    """Return stacked weights, and the sum of the models' losses, whose gradients do not mix."""
    assert isinstance(workload.model, Mlp)
    parameters = {name: torch.from_numpy(array.copy()).requires_grad_() for name, array in weights.items()}
    depth = len(workload.model.widths) - 1

    def loss(label: Tensor, x: Tensor) -> Tensor:
        h = x.expand(workload.copies, *x.shape)
        for place in range(depth):
            weight, bias = (parameters[f"linear_{place}.{kind}"] for kind in ("weight", "bias"))
            h = torch.baddbmm(bias[:, None], h, weight.transpose(1, 2))
            h = functional.relu(h) if place < depth - 1 else h
        return functional.cross_entropy(h.flatten(0, 1), label.repeat(workload.copies)) * workload.copies

    return list(parameters.values()), loss


class ManyTorchStep(TorchStep):
    """Steps of several models at once; the loss is the mean of theirs."""

    def __init__(self, workload: Workload, *rest: Any, **options: Any) -> None:
        super().__init__(workload, *rest, **options)
        self._copies = workload.copies

    def run(self, steps: int) -> tuple[int, float]:
        done, total = super().run(steps)
        return done, total / self._copies


def build(workload: Workload, weights: Columns, arguments: argparse.Namespace) -> list[Make]:
    """Offer optimizers and threads; compiling takes long, so that has fewer."""
    kind = ManyTorchStep if workload.copies > 1 else TorchStep
    counts = sorted({1, arguments.threads}, reverse=True)
    choices: list[tuple[int, str, tuple[str, ...]]]
    if arguments.mode == "eager":
        choices = [(count, optimizer, ()) for count in counts for optimizer in ("fused", "foreach")]
    elif arguments.mode == "compile":
        choices = [(arguments.threads, "fused", ("loss",)), (arguments.threads, "foreach", ("loss", "optimizer"))]
    else:
        raise Missing(f"there is no mode {arguments.mode!r}")

    def make(count: int, optimizer: str, compiled: tuple[str, ...]) -> Make:
        return lambda: kind(workload, weights, count, optimizer, compiled=compiled)

    return [make(*choice) for choice in choices]


if __name__ == "__main__":
    serve(build, "mode")
