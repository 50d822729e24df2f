"""Data-parallel training: identical replicas of a model process different samples and step by the mean gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from engine.autograd import tape
from engine.core.dtypes import DEFAULTS
from engine.core.errors import AttributeValueError, DataError
from engine.core.modes import MODES
from engine.core.rng import fold
from engine.core.value import Value
from engine.nn.modules.module import Module, load_arrays
from engine.optim.clipping import clip_gradients
from engine.optim.tape_optimizer import TapeOptimizer

Gradients = dict[str, Value]


@dataclass(frozen=True)
class DataParallelResult:
    """Result of `dp_train`: the model, its parameters by name, and the mean loss of each iteration."""

    model: Module
    parameters: Mapping[str, Value]
    loss_history: tuple[float, ...]


def dp_train(
    make_model: Callable[[], Module],
    data: Sequence[Any],
    loss_fn: Callable[[Any, Any], Value],
    *,
    forward_fn: Callable[[Module, Any], Any] = lambda model, sample: model(sample),
    target_fn: Callable[[Any], Any] = lambda sample: sample,
    replicas: int = 2,
    iterations: int = 10,
    lr: float = 1e-3,
    optimizer: str = "adam",
    max_norm: float = math.inf,
    seed: int = 0,
    on_iteration: Callable[[int, float], object] | None = None,
) -> DataParallelResult:
    """Train replicas of a model in threads, one sample each per iteration; after ggmlR's dp_train.

    In iteration i (from 0) replica r (from 0) gets sample (i * replicas + r) mod len(data). The mean of the replicas'
    gradients is clipped and applied to replica 0, whose parameters are then copied to the others. Each replica has its
    own buffers, such as the running statistics of batch norm; the result has those of replica 0.

    Args:
        make_model: creates a replica; all are set to the state of the first.
        data: the samples.
        loss_fn: the loss (one element) of a replica's output and the target.
        forward_fn: the output for a sample.
        target_fn: the target of a sample.
        replicas: number of replicas.
        iterations: number of steps.
        lr: learning rate.
        optimizer: kind of the optimizer.
        max_norm: maximum norm of the mean gradient, which is clipped to it.
        seed: seed of dropout and other draws, which depend on iteration and replica only.
        on_iteration: called with the number of an iteration (from 1) and its mean loss.
    """
    if replicas < 1 or iterations < 0:
        raise AttributeValueError(f"dp_train needs replicas >= 1 and iterations >= 0, got {replicas} and {iterations}")
    if not len(data):
        raise DataError("dp_train needs at least one sample")
    models = [make_model() for _ in range(replicas)]
    first = models[0]
    for model in models[1:]:
        model.load_state_dict(first.state_dict())
    stepper = TapeOptimizer(first.parameters(), optimizer, lr=lr)
    history, dtype = [], DEFAULTS.dtype

    def work(iteration: int, replica: int) -> tuple[float, Gradients]:
        DEFAULTS.dtype = dtype  # threads have defaults and keys of their own
        MODES.keys.restart(fold(seed, iteration, replica)[1])
        sample, model = data[(iteration * replicas + replica) % len(data)], models[replica]
        loss = loss_fn(forward_fn(model, sample), target_fn(sample))
        return loss.item(), _gradients(loss, model.parameters())

    with ThreadPoolExecutor(replicas, thread_name_prefix="replica") as pool:
        for iteration in range(iterations):
            results = list(pool.map(work, [iteration] * replicas, range(replicas)))
            gradients = _mean([found for _, found in results])
            clip_gradients(gradients, max_norm)
            stepper.step(gradients)
            for model in models[1:]:
                load_arrays(model.parameters(), first.parameters(), "replica 0")
            history.append(sum(loss for loss, _ in results) / replicas)
            if on_iteration is not None:
                on_iteration(iteration + 1, history[-1])
    return DataParallelResult(first, first.parameters(), tuple(history))


def _gradients(loss: Value, parameters: Mapping[str, Value]) -> Gradients:
    trained = {name: leaf for name, leaf in parameters.items() if leaf.requires_grad}
    found = tape.grad(loss, list(trained.values()), allow_unused=True)
    return {name: gradient for name, gradient in zip(trained, found, strict=True) if gradient is not None}


def _mean(found: Sequence[Gradients]) -> Gradients:
    """Average by name; a missing gradient counts as 0."""
    total: Gradients = {}
    for gradients in found:
        for name, gradient in gradients.items():
            total[name] = total[name] + gradient if name in total else gradient
    return {name: gradient * (1.0 / len(found)) for name, gradient in total.items()}
