"""Serialization of a session: snapshot and restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.core.errors import CheckpointError
from engine.core.fingerprint import fingerprint
from engine.data.checkpoint import Checkpoint
from engine.session.state import SessionState

GRADIENT = "gradient/"
"""Prefix of gradient sums in the state of a checkpoint."""
SESSION = "session"
"""Entry of the cursor of a checkpoint that only sessions write."""


@dataclass(slots=True)
class Counters:
    """Counters of a session.

    Attributes:
        seed: seed of random draws, combined with the number of the pass.
        passes: number of forward passes.
        step: number of optimizer steps.
    """

    seed: int
    passes: int = 0
    step: int = 0


def snapshot(work: SessionState, counters: Counters, executor: str) -> Checkpoint:
    """Return a checkpoint of everything that later calls depend on."""
    checkpoint = work.model.snapshot()
    sums = {name: work.raw_gradient(name) for name in sorted(work.reached)}
    checkpoint.state.update({GRADIENT + name: array.copy() for name, array in sums.items()})
    squares = {name: square.hex() for name, square in sorted(work.squares.items())}
    saved = {
        "seed": counters.seed,
        "passes": counters.passes,
        "apart": dict(sorted(work.apart.items())),
        "squares": squares,
    }
    checkpoint.cursor = {"step": counters.step, SESSION: saved}
    checkpoint.meta = {"graph": work.model.definition.digest, "fingerprint": fingerprint(executor)}
    return checkpoint


def restore(checkpoint: Checkpoint, work: SessionState, counters: Counters) -> tuple[SessionState, Counters]:
    """Return the state and counters of a checkpoint; the given ones are not changed.

    A checkpoint of a fit has no gradients, and no optimizer state for parameters that its losses do not depend on:
    these are reset, and the random draws continue.

    Raises:
        CheckpointError: it belongs to another graph or optimizer, or is damaged.
    """
    if checkpoint.meta.get("graph") != work.model.definition.digest:
        raise CheckpointError("the checkpoint belongs to another graph; restore it without optimizer state")
    saved = checkpoint.cursor.get(SESSION)
    if saved is None:
        step = checkpoint.cursor.get("step", 0)
        if type(step) is not int or step < 0:
            raise CheckpointError(f"the checkpoint's cursor is damaged (step {str(step)[:40]!r})")
        fresh = work.with_layout(work.origin)
        fresh.clear_momenta()
        state = {**fresh.model.snapshot().optimizer, **checkpoint.optimizer}
        fresh.model.restore(replace(checkpoint, optimizer=state))
        fresh.clear(forget=True)
        return fresh, replace(counters, step=step)
    seed, passes, step, apart, squares = _read(saved, checkpoint.cursor, work)
    sums = checkpoint.under(GRADIENT)
    for name, array in sums.items():
        shape = work.model.parameters[name].shape if work.trains(name) else None
        if array.shape != shape:
            raise CheckpointError(f"the checkpoint's {GRADIENT}{name} belongs to no parameter of its shape")
    fresh = work.with_layout(apart)
    fresh.model.restore(checkpoint)
    fresh.clear(forget=True)
    for name, array in sums.items():
        fresh.raw_gradient(name)[...] = array
    fresh.reached, fresh.squares = set(sums), squares
    return fresh, Counters(seed, passes, step)


def _read(
    saved: Any, cursor: Mapping[str, Any], work: SessionState
) -> tuple[int, int, int, dict[str, int], dict[str, float]]:
    try:
        counts = [saved["seed"], saved["passes"], cursor["step"], *saved["apart"].values()]
        squares = {name: float.fromhex(text) for name, text in saved["squares"].items()}
        apart = dict(saved["apart"])
        if not all(type(count) is int and count >= 0 for count in counts) or not all(map(work.trains, apart)):
            raise ValueError("a count is none")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CheckpointError(f"the checkpoint's cursor is incomplete ({error})") from error
    return counts[0], counts[1], counts[2], apart, squares


def load_parameters(checkpoint: Checkpoint, work: SessionState) -> None:
    """Load parameters and buffers of a checkpoint, or their averages; reset optimizer and gradients.

    Raises:
        CheckpointError: one is missing or has another shape; then nothing is changed.
    """
    work.model.restore(checkpoint.averaged(), optimizer=False)
    work.clear(forget=True)
    work.clear_momenta()
