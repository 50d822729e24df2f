"""Schedules along a cosine: rate(base, t, options), t counting epochs or steps from 0."""

from __future__ import annotations

import math
from typing import Literal

from engine.core.constraints import Length, Rate


def cosine(
    base: float,
    t: int,
    *,
    t_max: Length,
    eta_min: Rate = 0.0,
    restart: bool = False,
    compat: Literal["torch", "ggmlR"] = "torch",
) -> float:
    """eta_min + (base - eta_min) * (1 + cos(pi * t / t_max)) / 2, as torch's CosineAnnealingLR (SGDR 2017).

    Beyond t_max it rises again, or with `restart` starts anew. With compat "ggmlR" it is one step late, as there: the
    first step leaves the rate alone, and t_max - 1 is as far as it comes.
    """
    if compat == "ggmlR":
        t = max(t - 1, 0) if restart else min(max(t - 1, 0), t_max - 1)
    if restart:
        t %= t_max
    return eta_min + (base - eta_min) * (1 + math.cos(math.pi * t / t_max)) / 2


def cosine_warm_restarts(base: float, t: int, *, t_0: Length, t_mult: Length = 1, eta_min: Rate = 0.0) -> float:
    """A cosine from base down to eta_min that starts anew, as torch's CosineAnnealingWarmRestarts (SGDR 2017).

    The first fall takes t_0, each further one t_mult times as long as the one before.
    """
    length = t_0
    if t_mult == 1:
        t %= length
    while t >= length:
        t -= length
        length *= t_mult
    return eta_min + (base - eta_min) * (1 + math.cos(math.pi * t / length)) / 2
