"""Forward and backward passes of a session; their results are committed only if the whole pass succeeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.core.errors import GradientError
from engine.core.value import Array, Spec
from engine.execution.interpreter.point import run
from engine.execution.plan import NumpyExecutor
from engine.graph.trace import KEY
from engine.session.batch import Batch, BatchReader, Wanted, choose_reduction, loss_scale
from engine.session.results import Forward, Tape, check_cotangents
from engine.session.state import SessionState
from engine.training.recipe.recipe import Recipe
from engine.training.step.accumulation import plan_accumulation, plan_backward, plan_forward
from engine.training.step.names import COTANGENT, EACH_LOSS, LOSS, LOSS_WEIGHT, NEW, OUTPUT, SAVED, SHARE
from engine.training.step.reduction import Reduction

Key = tuple[int, int]
"""The seed and the number of a pass: what random draws come from."""


@dataclass
class Pass:
    """Results of forward and backward passes beside gradients.

    Attributes:
        losses: the sum of the losses under "", and each loss by its reference.
        outputs: the declared ones, if they were wanted.
        count: passes that it took.
        limited: whether they have changed parameters.
    """

    losses: dict[str, float] = field(default_factory=dict)
    outputs: dict[str, Array] = field(default_factory=dict)
    count: int = 0
    limited: bool = False

    def add(self, losses: Mapping[str, float], factor: float) -> None:
        """Add the losses of a part, times what they count; one that counts nothing may be 0 / 0."""
        for name, loss in losses.items():
            self.losses[name] = self.losses.get(name, 0.0) + (loss * factor if factor else 0.0)


class Passes:
    """Runs passes on the arrays of a session."""

    def __init__(
        self, work: SessionState, recipe: Recipe, feeds: BatchReader, reached: Mapping[str, frozenset[str]], shards: int
    ) -> None:
        """Prepare to run.

        Args:
            work: the arrays.
            recipe: precision.
            feeds: checks parts of batches.
            reached: the parameters that each output and loss depends on.
            shards: into how many shards plans may cut a batch.
        """
        self._work = work
        self._recipe = recipe
        self._feeds = feeds
        self._reached = reached
        self._shards = shards
        self._losses = work.model.definition.losses
        self._by_losses = frozenset[str]().union(*(reached[name] for name in self._losses))
        self._flats = work.flats_of(self._by_losses)

    def forward(
        self, batch: Batch, key: Key, *, training: bool, keep: tuple[object, int] | None
    ) -> tuple[Forward, bool]:
        """Run a forward pass; `keep` says whose tape it is, and at which version of the parameters.

        Returns:
            The result, and whether parameters changed.
        """
        executor = self._work.executors.of(
            ("forward", batch.shapes, training, keep is not None),
            plan_forward,
            self._work.model,
            batch.dims,
            self._recipe,
            training=training,
            keep=keep is not None,
            most_shards=self._shards,
        )
        executor.inputs[KEY][...] = key
        batch.feed(executor)
        run(executor)
        tape = None if keep is None else self._tape(executor, batch, *keep, training=training)
        limited = self._work.take_over(executor)
        losses = {name: executor.outputs[EACH_LOSS + name].item() for name in self._losses}
        return Forward(_outputs(executor), losses, tape), limited

    def _tape(self, executor: NumpyExecutor, batch: Batch, owner: object, version: int, *, training: bool) -> Tape:
        found = executor.outputs
        saved = {name: array.copy() for name, array in found.items() if name.startswith(SAVED)}
        names = {**{n: OUTPUT + n for n in self._reached}, **{n: EACH_LOSS + n for n in self._losses}}
        ends = {n: Spec(found[names[n]].shape, found[names[n]].dtype) for n in self._reached}
        return Tape(owner, batch.dims, batch.shapes, training, ends, version, saved)

    def backward(self, tape: Tape, cotangents: Mapping[str, Any]) -> None:
        """Add the gradients of the outputs and losses that have cotangents, weighted by these."""
        work, given = self._work, check_cotangents(tape, cotangents)
        reached = frozenset[str]().union(*(self._reached[name] for name in given))
        if not reached:
            return
        executor = work.executors.of(
            ("backward", tape.shapes, tape.training, tuple(given)),
            plan_backward,
            work.model,
            tape.dims,
            self._recipe,
            work.flats_of(reached),
            tuple(given),
            training=tape.training,
        )
        for name, array in executor.inputs.items():
            source = given[name.removeprefix(COTANGENT)] if name.startswith(COTANGENT) else tape.saved.get(name)
            if source is None:
                others = ", ".join(name for name in tape.ends if name not in given)
                raise GradientError(f"the tape does not serve these cotangents alone: give zeros for {others} too")
            array[...] = source
        run(executor)
        work.take_over(executor)
        work.reach(reached, executor)

    def forward_backward(
        self,
        batch: Batch,
        key: Key,
        natural: Reduction | None,
        wanted: Wanted | None,
        *,
        size: int | None = None,
        outputs: bool = False,
    ) -> Pass:
        """Add the gradients of the losses of a batch.

        Args:
            batch: the inputs.
            key: that of the first pass; for each further one the number is one more.
            natural: how the loss sums up its rows, None for any other way.
            wanted: how it is to; None for what the graph says.
            size: rows that are computed at a time.
            outputs: whether the declared outputs are wanted.
        """
        parts = [batch] if size is None or batch.rows <= size else list(self._feeds.parts(batch, size))
        way = choose_reduction(natural, wanted, parted=len(parts) > 1)
        done = Pass()
        with self._roll_back_on_failure(several=len(parts) > 1) as about_to_change:
            for part in parts:
                rows = None if way is None or natural is None else (natural, part.rows)
                executor = self._accumulating(part, rows, outputs=outputs)
                executor.inputs[KEY][...] = (key[0], key[1] + done.count)
                share = loss_scale(way, batch) if rows else 1.0
                if rows:
                    executor.inputs[SHARE][...] = share
                part.feed(executor)
                run(executor)
                about_to_change(executor)
                done.limited |= self._work.take_over(executor)
                done.add(self._read_losses(executor), share * _weight(executor, rows))
                done.count += 1
        self._work.reach(self._by_losses, executor)
        if outputs:
            done.outputs = _outputs(executor)
        return done

    def _accumulating(self, batch: Batch, rows: tuple[Reduction, int] | None, *, outputs: bool) -> NumpyExecutor:
        return self._work.executors.of(
            ("accumulation", batch.shapes, rows, outputs),
            plan_accumulation,
            self._work.model,
            batch.dims,
            self._recipe,
            self._flats,
            rows,
            outputs=outputs,
            most_shards=self._shards,
        )

    def _read_losses(self, executor: NumpyExecutor) -> dict[str, float]:
        total = executor.outputs[LOSS].item()
        if len(self._losses) == 1:
            return {"": total, self._losses[0]: total}
        return {"": total, **{name: executor.outputs[EACH_LOSS + name].item() for name in self._losses}}

    @contextmanager
    def _roll_back_on_failure(self, *, several: bool) -> Iterator[Any]:
        """Restore the state if a part of a batch fails after earlier parts changed it. A single part needs no copy."""
        before: dict[str, Array] = {}
        arrays = self._work.arrays

        def about_to_change(executor: NumpyExecutor) -> None:
            if several and not before:
                states = [name.removeprefix(NEW) for name in executor.outputs if name.startswith(NEW)]
                before.update({state: arrays[state].copy() for state in states})

        try:
            yield about_to_change
        except BaseException:
            for state, array in before.items():
                np.copyto(arrays[state], array)
            raise


def _outputs(executor: NumpyExecutor) -> dict[str, Array]:
    return {
        name.removeprefix(OUTPUT): array.copy() for name, array in executor.outputs.items() if name.startswith(OUTPUT)
    }


def _weight(executor: NumpyExecutor, rows: tuple[Reduction, int] | None) -> float:
    """Return what the loss of a part counts in the sum over the rows of a batch."""
    if rows is None or rows[0] == "sum":
        return 1.0
    return executor.outputs[LOSS_WEIGHT].item() if LOSS_WEIGHT in executor.outputs else float(rows[1])
