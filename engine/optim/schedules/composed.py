"""Schedules made of schedules: rate(base, t, options), where options hold further schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, Protocol

from engine.core.attributes import Length, Range
from engine.core.errors import AttributeValueError

Faults = Iterator[tuple[str, str]]


class Member(Protocol):
    """A schedule inside another."""

    @property
    def kind(self) -> str:
        """Its kind in the table."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Its options."""

    def at(self, base: float, t: int) -> float:
        """Return its rate."""

    def momentum_at(self, t: int) -> float | None:
        """Return the momentum it sets, None where it sets none."""


def sequential(
    base: float, t: int, *, schedules: tuple[Member, ...], milestones: Annotated[tuple[int, ...], Range(1)]
) -> float:
    """One schedule after another, as torch's SequentialLR: each starts from base, with t 0, at its milestone."""
    index = bisect_right(milestones, t)
    return schedules[index].at(base, t - milestones[index - 1] if index else t)


def sequential_momentum(t: int, options: Mapping[str, Any]) -> float | None:
    """Return the momentum after `t`: that of the current schedule, if it sets one.

    Otherwise it is the last one that an earlier schedule set; before any has set it, the first one of the last
    schedule, as in torch. None if no schedule sets it.
    """
    schedules, starts = options["schedules"], (0, *options["milestones"])
    index = bisect_right(starts, t) - 1
    ends = (*(following - 1 for following in starts[1 : index + 1]), t)
    gone = [member.momentum_at(end - start) for member, start, end in zip(schedules, starts, ends, strict=False)]
    ahead = [member.momentum_at(0) for member in reversed(schedules[index + 1 :])]
    return next((momentum for momentum in (*reversed(gone), *ahead) if momentum is not None), None)


def check_sequential(options: Mapping[str, Any]) -> Faults:
    """Find milestones that do not separate the schedules, and schedules that end before their milestone."""
    schedules, milestones = options["schedules"], options["milestones"]
    yield from _no_plateau("sequential", schedules)
    if not schedules:
        yield "/schedules", "sequential.schedules must hold at least one schedule"
        return
    if len(milestones) != len(schedules) - 1:
        wanted = f"one less than the schedules, of which there are {len(schedules)}, not {len(milestones)}"
        yield "/milestones", f"sequential.milestones must be {wanted}"
        return
    if any(later <= earlier for earlier, later in pairwise(milestones)):
        yield "/milestones", "sequential.milestones must rise"
        return
    for index, (start, end) in enumerate(pairwise((0, *milestones))):
        fault = _ends_early(schedules[index], end - start - 1)
        if fault:
            yield f"/schedules/{index}", fault


def chained(base: float, t: int, *, schedules: tuple[Member, ...]) -> float:
    """All schedules applied in turn, as torch's ChainedScheduler: the base of each is the rate of the one before.

    So factors multiply. Torch multiplies the rate of the previous step; this is a function of t alone. The two differ
    for a cosine with an eta_min or past its t_max, and after warm restarts.
    """
    for member in schedules:
        base = member.at(base, t)
    return base


def chained_momentum(t: int, options: Mapping[str, Any]) -> float | None:
    """Return the momentum after `t`: that of the last schedule that sets it."""
    found = [member.momentum_at(t) for member in options["schedules"]]
    return next((momentum for momentum in reversed(found) if momentum is not None), None)


def check_chained(options: Mapping[str, Any]) -> Faults:
    """Find schedules that would discard the rates of those before them."""
    schedules = options["schedules"]
    yield from _no_plateau("chained", schedules)
    if not schedules:
        yield "/schedules", "chained.schedules must hold at least one schedule"
    for index, member in enumerate(schedules[1:], start=1):
        if member.kind == "cyclic" or member.options.get("max_lr") is not None:
            yield f"/schedules/{index}", f"{member.kind} sets a rate of its own: in a chain it can only come first"


def warm_up(
    base: float,
    t: int,
    *,
    schedule: Member,
    total_iters: Length = 5,
    start_factor: Annotated[float, Range(0, 1, above=True)] = 1 / 3,
) -> float:
    """A linear rise to the first rate of `schedule` in total_iters, then that schedule from its t 0.

    The rise starts at start_factor of that rate. It is torch's LinearLR followed by another schedule in a SequentialLR;
    reduce_on_plateau ignores the metric during the rise.
    """
    if t >= total_iters:
        return schedule.at(base, t - total_iters)
    return schedule.at(base, 0) * (start_factor + (1 - start_factor) * t / total_iters)


def warm_up_momentum(t: int, options: Mapping[str, Any]) -> float | None:
    """Return the momentum after `t`: during the rise, the first one of the schedule."""
    momentum: float | None = options["schedule"].momentum_at(max(t - options["total_iters"], 0))
    return momentum


def _no_plateau(owner: str, schedules: tuple[Member, ...]) -> Faults:
    for index, member in enumerate(schedules):
        if _innermost(member).kind == "reduce_on_plateau":
            detail = f"{owner} takes no reduce_on_plateau, which goes by a metric; it may stand alone or in a warm_up"
            yield f"/schedules/{index}", detail


def _innermost(member: Member) -> Member:
    return _innermost(member.options["schedule"]) if member.kind == "warm_up" else member


def _ends_early(member: Member, last: int) -> str | None:
    try:
        member.at(1.0, last)
    except AttributeValueError as error:
        return str(error)
    except OverflowError:
        pass
    return None
