"""Runs: the steps of a plan in an order in which one thread can take them, shard by shard, with the arrays they see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from engine.core.sharding_rules import WHOLE
from engine.core.value import Spec
from engine.execution.plan.plan import Buffer, Phase, Plan, Step
from engine.execution.plan.sharding import JOIN


class Seen(NamedTuple):
    """A value as a step sees it.

    Attributes:
        number: which value.
        owner: the shard whose own memory it lies in; None for a value that all share.
        axis: the axis along which only a part of it is seen, if it is.
        part: which part.
    """

    number: int
    owner: int | None = None
    axis: int | None = None
    part: int = 0


class Run(NamedTuple):
    """A step, and the values it works on; the inputs of a `JOIN` are the summands of all shards."""

    step: Step
    inputs: tuple[Seen, ...]
    outputs: tuple[Seen, ...]


def runs(plan: Plan) -> Iterator[Run]:
    """Yield every step, those of a phase that the shards run once for each of them."""
    for phase in plan.phases:
        for shard in range(plan.shards) if phase.sharded else (0,):
            yield from runs_of_phase(plan, phase, shard)


def runs_of_phase(plan: Plan, phase: Phase, shard: int) -> Iterator[Run]:
    """Yield the steps of a phase as one shard runs them; `shard` counts only in a phase that all shards run."""
    for place in phase.steps:
        yield _run(plan, plan.steps[place], shard if phase.sharded else None)


def buffer_of(plan: Plan, seen: Seen) -> Buffer:
    """Return where a value lies as a step sees it; the root of one that has an owner is in memory of the owner's."""
    buffer = plan.buffers[seen.number]
    if seen.axis is None:
        return buffer
    shape = list(buffer.spec.shape)
    shape[seen.axis] //= plan.shards
    offset = buffer.offset + seen.part * shape[seen.axis] * buffer.strides[seen.axis]
    return replace(buffer, offset=offset, spec=Spec(tuple(shape), buffer.spec.dtype))


def _run(plan: Plan, step: Step, shard: int | None) -> Run:
    outputs = tuple(_seen(plan, number, shard, None) for number in step.outputs)
    if step.op is JOIN:
        axis, part = (None, 0) if shard is None else (0, shard)
        return Run(step, tuple(Seen(step.inputs[0], owner, axis, part) for owner in range(plan.shards)), outputs)
    if step.op.memory.packs and shard:  # what is whole is added by the first shard
        step = _of_summands(plan, step)
    windows = step.windows or (None,) * len(step.inputs)
    inputs = (_seen(plan, number, shard, window) for number, window in zip(step.inputs, windows, strict=True))
    return Run(step, tuple(inputs), outputs)


def _seen(plan: Plan, number: int, shard: int | None, window: int | None) -> Seen:
    buffer = plan.buffers[number]
    if shard is None:
        return Seen(number)
    if plan.roots[buffer.root].kind in ("shard", "partial"):
        return Seen(number, shard)
    axis = buffer.split if window is None else None if window == WHOLE else window
    return Seen(number) if axis is None else Seen(number, None, axis, shard)


def _of_summands(plan: Plan, step: Step) -> Step:
    """Return a pack without the inputs of which a shard has no summand."""
    kept = [i for i, n in enumerate(step.inputs) if plan.roots[plan.buffers[n].root].kind == "partial"]
    attrs: dict[str, Any] = {**step.attrs, "offsets": tuple(step.attrs["offsets"][i] for i in kept)}
    windows = tuple(step.windows[i] for i in kept) if step.windows else ()
    return replace(step, inputs=tuple(step.inputs[i] for i in kept), attrs=attrs, windows=windows)
