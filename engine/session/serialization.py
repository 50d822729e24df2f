"""A session as a checkpoint, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.core.errors import CheckpointError
from engine.core.fingerprint import fingerprint
from engine.data.checkpoint import Checkpoint
from engine.session.state import SessionState

GRADIENT = "gradient/"
"""What names in a checkpoint's state start with: sums of gradients."""
SESSION = "session"
"""The entry of a checkpoint's cursor that only sessions write."""


@dataclass(slots=True)
class Counters:
    """Where a session stands.

    Attributes:
        seed: what random draws come from, together with the number of the pass.
        passes: forward passes that were run and counted.
        step: steps that the optimizer has taken.
    """

    seed: int
    passes: int = 0
    step: int = 0


def snapshot(work: SessionState, counters: Counters, executor: str) -> Checkpoint:
    """Copy everything that the next calls depend on."""
    checkpoint = work.model.snapshot()
    sums = {name: work.raw_gradient(name) for name in sorted(work.reached)}
    checkpoint.state.update({GRADIENT + name: array.copy() for name, array in sums.items()})
    squares = {name: square.hex() for name, square in sorted(work.squares.items())}
    told = {
        "seed": counters.seed,
        "passes": counters.passes,
        "apart": dict(sorted(work.apart.items())),
        "squares": squares,
    }
    checkpoint.cursor = {"step": counters.step, SESSION: told}
    checkpoint.meta = {"graph": work.model.definition.digest, "fingerprint": fingerprint(executor)}
    return checkpoint


def restore(checkpoint: Checkpoint, work: SessionState, counters: Counters) -> tuple[SessionState, Counters]:
    """Return the arrays and counters that a checkpoint holds; those given are left alone if it does not fit.

    A checkpoint of a fit has no gradients, and no state for parameters that its losses do not depend on: these begin
    anew, and random draws go on as they were.

    Raises:
        CheckpointError: it belongs to another graph or optimizer, or is damaged.
    """
    if checkpoint.meta.get("graph") != work.model.definition.digest:
        raise CheckpointError("the checkpoint belongs to another graph; restore it without optimizer state")
    told = checkpoint.cursor.get(SESSION)
    if told is None:
        step = checkpoint.cursor.get("step", 0)
        if type(step) is not int or step < 0:
            raise CheckpointError(f"the checkpoint's cursor is damaged (step {str(step)[:40]!r})")
        fresh = work.laid_out(work.origin)
        fresh.clear_momenta()
        state = {**fresh.model.snapshot().optimizer, **checkpoint.optimizer}
        fresh.model.restore(replace(checkpoint, optimizer=state))
        fresh.clear(forget=True)
        return fresh, replace(counters, step=step)
    seed, passes, step, apart, squares = _read(told, checkpoint.cursor, work)
    sums = checkpoint.under(GRADIENT)
    for name, array in sums.items():
        shape = work.model.parameters[name].shape if work.trains(name) else None
        if array.shape != shape:
            raise CheckpointError(f"the checkpoint's {GRADIENT}{name} belongs to no parameter of its shape")
    fresh = work.laid_out(apart)
    fresh.model.restore(checkpoint)
    fresh.clear(forget=True)
    for name, array in sums.items():
        fresh.raw_gradient(name)[...] = array
    fresh.reached, fresh.squares = set(sums), squares
    return fresh, Counters(seed, passes, step)


def _read(
    told: Any, cursor: Mapping[str, Any], work: SessionState
) -> tuple[int, int, int, dict[str, int], dict[str, float]]:
    try:
        counts = [told["seed"], told["passes"], cursor["step"], *told["apart"].values()]
        squares = {name: float.fromhex(text) for name, text in told["squares"].items()}
        apart = dict(told["apart"])
        if not all(type(count) is int and count >= 0 for count in counts) or not all(map(work.trains, apart)):
            raise ValueError("a count is none")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CheckpointError(f"the checkpoint's cursor is incomplete ({error})") from error
    return counts[0], counts[1], counts[2], apart, squares


def load_parameters(checkpoint: Checkpoint, work: SessionState) -> None:
    """Take parameters and buffers of a checkpoint, or their averages, and begin anew with optimizer and gradients.

    Raises:
        CheckpointError: one is missing or of another shape; nothing has been changed then.
    """
    work.model.restore(checkpoint.averaged(), optimizer=False)
    work.clear(forget=True)
    work.clear_momenta()
