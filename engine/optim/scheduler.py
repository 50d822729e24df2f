"""A schedule that is attached to an optimizer of the tape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, SupportsFloat

from engine.core.errors import AttributeValueError, CheckpointError
from engine.optim.schedules.plateau import Plateau
from engine.optim.schedules.schedule import Schedule, make_schedule


class RateGroup(Protocol):
    """A group of parameters: its learning rate, the one from which schedules start, and momentum if it has any."""

    kind: str
    lr: float
    initial_lr: float

    @property
    def has_momentum(self) -> bool:
        """Whether a schedule may change the momentum."""

    def set_momentum(self, momentum: float) -> None:
        """Set the momentum of later steps."""


class SchedulableOptimizer(Protocol):
    """An optimizer of the tape, by gradients or by closures."""

    @property
    def groups(self) -> Sequence[RateGroup]:
        """The parameter groups."""


class Scheduler:
    """Sets the learning rate of every group: `Scheduler(optimizer, "cosine", t_max=150)`, then `step()` each epoch.

    The schedule starts from the learning rates that the groups have at construction. A schedule that depends on a
    metric needs it: `step(loss)`. One that cycles momentum also sets the momentum of every group.
    """

    def __init__(self, optimizer: SchedulableOptimizer, kind: str, **options: Any) -> None:
        """Attach a schedule; `kind` and `options` are those of the catalogue of schedules.

        Raises:
            AttributeValueError: the schedule cycles momentum, and the optimizer has none.
        """
        self.optimizer = optimizer
        self.last_epoch = 0
        self._document = {"kind": kind, **options}
        self._schedule = self._fitting(self._document)
        self._bases = [group.lr for group in optimizer.groups]
        self._plateaus = [self._schedule.start(base) for base in self._bases]
        for group in optimizer.groups:
            group.initial_lr = group.lr
        self._apply()

    def step(self, metric: SupportsFloat | None = None) -> None:
        """Advance by one epoch, or by another unit that the caller counts.

        Args:
            metric: the value for reduce_on_plateau, regardless of its `monitor`; other schedules ignore it.

        Raises:
            AttributeValueError: the schedule needs a metric and none is given, or it is past its end.
        """
        count = self.last_epoch + 1
        plateaus = [None if one is None else self._observed(one, metric, count) for one in self._plateaus]
        rates = self._rates(count, plateaus)
        self.last_epoch, self._plateaus = count, plateaus
        self._set(rates)

    def get_last_lr(self) -> list[float]:
        """Return the learning rate of each group."""
        return [group.lr for group in self.optimizer.groups]

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "schedule": dict(self._document),
            "last_epoch": self.last_epoch,
            "bases": list(self._bases),
            "plateaus": [None if one is None else one.to_json() for one in self._plateaus],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state and its learning rates.

        Raises:
            CheckpointError: a state of other groups, or a damaged one; nothing has been changed.
            AttributeValueError: the schedule cycles momentum, and the optimizer has none.
        """
        if len(state["bases"]) != len(self.optimizer.groups):
            counts = f"{len(state['bases'])} parameter groups, the optimizer has {len(self.optimizer.groups)}"
            raise CheckpointError(f"the state is of {counts}")
        schedule = self._fitting(state["schedule"])
        plateaus = [schedule.start(base) for base in state["bases"]]
        if any(plateaus):
            plateaus = _read_plateaus(state.get("plateaus"), len(plateaus))
        self._document, self._schedule, self._plateaus = dict(state["schedule"]), schedule, plateaus
        self.last_epoch, self._bases = state["last_epoch"], list(state["bases"])
        self._apply()

    def _observed(self, plateau: Plateau, metric: SupportsFloat | None, count: int) -> Plateau:
        if metric is None:
            raise AttributeValueError("reduce_on_plateau needs a metric: call step(metric), for example step(loss)")
        value = float(metric)
        return self._schedule.observe(plateau, {"loss": value, "val_loss": value}, epoch=count, step=count)

    def _rates(self, count: int, plateaus: list[Plateau | None]) -> list[float]:
        return [
            self._schedule.rate(base, epoch=count, step=count, plateau=plateau)
            for base, plateau in zip(self._bases, plateaus, strict=True)
        ]

    def _apply(self) -> None:
        self._set(self._rates(self.last_epoch, self._plateaus))

    def _set(self, rates: list[float]) -> None:
        momentum = self._schedule.momentum(epoch=self.last_epoch, step=self.last_epoch)
        for group, rate in zip(self.optimizer.groups, rates, strict=False):
            group.lr = rate
            if momentum is not None:
                group.set_momentum(momentum)

    def _fitting(self, document: Mapping[str, Any]) -> Schedule:
        schedule = make_schedule({"per": "step", **document})
        for group in self.optimizer.groups:
            if schedule.cycles_momentum and not group.has_momentum:
                detail = f"the schedule cycles momentum, and {group.kind} has none"
                raise AttributeValueError(f"{detail}; give it cycle_momentum false")
        return schedule


def _read_plateaus(documents: Any, groups: int) -> list[Plateau | None]:
    try:
        plateaus: list[Plateau | None] = [Plateau.from_json(document) for document in documents]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"the state of reduce_on_plateau is damaged ({error})") from error
    if len(plateaus) != groups:
        raise CheckpointError(f"the state of reduce_on_plateau is of {len(plateaus)} parameter groups, not {groups}")
    return plateaus
