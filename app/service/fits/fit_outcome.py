"""What a fit came to, in a few digests: two fits of equal outcomes are equal bit for bit."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import engine
from app.domain.checkpoint import CheckpointRecord
from app.service.resources.integrity import Integrity


def outcome_of(steps: int, rows: Iterable[str], state: Mapping[str, str]) -> dict[str, Any]:
    """Return what is compared of a fit (see `app.domain.replay`).

    Args:
        steps: the step that it ended at.
        rows: its metric rows as they are stored.
        state: the digests of its last checkpoint.
    """
    return {"steps": steps, "metrics": _digest_of(rows), **state}


def state_of(integrity: Integrity, checkpoint: CheckpointRecord) -> dict[str, str]:
    """Return the digests of a checkpoint's parameters, buffers and optimizer state; Corrupt if its file is damaged."""
    return dict(engine.state_digest(engine.Checkpoint.load(integrity.checkpoint(checkpoint))))


def last_checkpoint(checkpoints: Iterable[CheckpointRecord], step: int) -> CheckpointRecord | None:
    """Return the one that was written last at the step that a fit ended at, None if it is not kept."""
    return max((each for each in checkpoints if each.step == step), key=lambda each: each.id, default=None)


def _digest_of(rows: Iterable[str]) -> dict[str, Any]:
    """Return how many rows there are, and the SHA-256 of them as lines."""
    digest, count = hashlib.sha256(), 0
    for row in rows:
        digest.update(row.encode() + b"\n")
        count += 1
    return {"rows": count, "digest": digest.hexdigest()}
