"""Learning-rate schedules as data: pure functions of the count of epochs (or steps) and the starting rate."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.attributes import attributes_of, bind
from engine.errors import AttributeValueError, UnknownName, nearest

Rate = Callable[..., float]

SCHEDULES: dict[str, Rate] = {}
"""Every schedule by its kind: rate(base, t, options)."""


def schedule(rate: Rate) -> Rate:
    """Enter a schedule into the table under its function's name."""
    SCHEDULES[rate.__name__] = rate
    return rate


@schedule
def constant(base: float, t: int) -> float:
    """The starting rate throughout."""
    return base


@schedule
def step(base: float, t: int, *, step_size: int, gamma: float = 0.1) -> float:
    """base * gamma ** (t // step_size), as torch's StepLR."""
    if step_size < 1:
        raise AttributeValueError(f"step.step_size must be at least 1, not {step_size}")
    return base * gamma ** (t // step_size)


@schedule
def cosine(
    base: float,
    t: int,
    *,
    t_max: int,
    eta_min: float = 0.0,
    restart: bool = False,
    compat: Literal["torch", "ggmlR"] = "torch",
) -> float:
    """eta_min + (base - eta_min) * (1 + cos(pi * t / t_max)) / 2, as torch's CosineAnnealingLR (SGDR 2017).

    Beyond t_max it rises again, or with `restart` starts anew. With compat "ggmlR" it is one step late, as there: the
    first step leaves the rate alone, and t_max - 1 is as far as it comes.
    """
    if t_max < 1:
        raise AttributeValueError(f"cosine.t_max must be at least 1, not {t_max}")
    if compat == "ggmlR":
        t = max(t - 1, 0) if restart else min(max(t - 1, 0), t_max - 1)
    if restart:
        t %= t_max
    return eta_min + (base - eta_min) * (1 + math.cos(math.pi * t / t_max)) / 2


@dataclass(frozen=True)
class Schedule:
    """A schedule with its options, counted in epochs or in steps."""

    kind: str
    options: Mapping[str, Any]
    per: Literal["epoch", "step"]

    def rate(self, base: float, *, epoch: int, step: int) -> float:
        """Return the learning rate of a step: `epoch` and `step` count what is complete; inf when it overflows."""
        try:
            return SCHEDULES[self.kind](base, epoch if self.per == "epoch" else step, **self.options)
        except OverflowError:
            return math.inf


def make_schedule(document: Mapping[str, Any]) -> Schedule:
    """Make a schedule from {"kind": ..., "per": "epoch" | "step", options}."""
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in SCHEDULES:
        shown = str(kind)[:64]
        raise UnknownName(f"there is no schedule called {shown!r}{nearest(shown, SCHEDULES)}")
    per = document.get("per", "epoch")
    if per not in ("epoch", "step"):
        raise AttributeValueError("schedule.per must be 'epoch' or 'step'")
    given = {key: value for key, value in document.items() if key not in ("kind", "per")}
    options = bind(kind, {a.name: a for a in attributes_of(SCHEDULES[kind])}, given)
    SCHEDULES[kind](1.0, 0, **options)
    return Schedule(kind, options, per)


def schedule_catalogue() -> list[dict[str, Any]]:
    """Describe every schedule for a client: kind, documentation, options."""
    return [
        {"kind": kind, "doc": inspect.getdoc(rate) or "", "attrs": [a.to_json() for a in attributes_of(rate)]}
        for kind, rate in SCHEDULES.items()
    ]
