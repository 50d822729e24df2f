"""A schedule of the table attached to an optimizer of the tape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import CheckpointError
from engine.optim.schedules import make_schedule
from engine.optim.tape_optimizer import TapeOptimizer


class Scheduler:
    """Sets the learning rate of every group: `Scheduler(optimizer, "cosine", t_max=150)`, then `step()` each epoch.

    The rates that the groups have when it is made are those the schedule starts from.
    """

    def __init__(self, optimizer: TapeOptimizer, kind: str, **options: Any) -> None:
        """Attach a schedule; `kind` and `options` are those of the catalogue of schedules."""
        self.optimizer = optimizer
        self.last_epoch = 0
        self._document = {"kind": kind, **options}
        self._schedule = make_schedule({"per": "step", **self._document})
        self._bases = [group.lr for group in optimizer.groups]
        for group in optimizer.groups:
            group.initial_lr = group.lr
        self._apply()

    def step(self) -> None:
        """Go on by one epoch, or whatever is counted."""
        self.last_epoch += 1
        self._apply()

    def get_last_lr(self) -> list[float]:
        """Return the learning rate of each group."""
        return [group.lr for group in self.optimizer.groups]

    def state_dict(self) -> dict[str, Any]:
        """Return where it stands, as plain data."""
        return {"schedule": dict(self._document), "last_epoch": self.last_epoch, "bases": list(self._bases)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to where `state` stands and set the learning rates of there.

        Raises:
            CheckpointError: a state of other groups.
        """
        if len(state["bases"]) != len(self.optimizer.groups):
            counts = f"{len(state['bases'])} parameter groups, the optimizer has {len(self.optimizer.groups)}"
            raise CheckpointError(f"the state is of {counts}")
        schedule = make_schedule({"per": "step", **state["schedule"]})
        self._document, self._schedule = dict(state["schedule"]), schedule
        self.last_epoch, self._bases = state["last_epoch"], list(state["bases"])
        self._apply()

    def _apply(self) -> None:
        for group, base in zip(self.optimizer.groups, self._bases, strict=False):
            group.lr = self._schedule.rate(base, epoch=self.last_epoch, step=self.last_epoch)
