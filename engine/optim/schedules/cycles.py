"""Schedules that rise and fall between two rates: rate(base, t, options), t counting epochs or steps from 0.

Momentum is left as it is: the optimizers take it as a fixed number of the planned step, not as one fed each step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from engine.errors import AttributeValueError
from engine.ranges import Factor, Length, Range, Rate, Share

Divisor = Annotated[float, Range(0, above=True)]


def one_cycle(
    base: float,
    t: int,
    *,
    total_steps: Length,
    max_lr: Annotated[float | None, Range(0)] = None,
    pct_start: Share = 0.3,
    anneal_strategy: Literal["cos", "linear"] = "cos",
    div_factor: Divisor = 25.0,
    final_div_factor: Divisor = 1e4,
) -> float:
    """Up from max_lr / div_factor to max_lr, then down to that start / final_div_factor, as torch's OneCycleLR.

    The rise takes the share pct_start of total_steps (Smith and Topin 2017, in two phases). Without max_lr the starting
    rate is the highest. Momentum is not cycled.

    Raises:
        AttributeValueError: t is past total_steps.
    """
    if t > total_steps:
        past = f"one_cycle is past its end: it has total_steps {total_steps}, and the rate after {t} was asked for"
        raise AttributeValueError(f"{past}; set total_steps to the length of the run")
    highest = base if max_lr is None else max_lr
    lowest = highest / div_factor
    peak, end = pct_start * total_steps - 1, total_steps - 1
    if t <= peak:
        return _between(lowest, highest, t / peak if peak else 1.0, anneal_strategy)
    share = (t - peak) / (end - peak) if end != peak else 1.0
    return _between(highest, lowest / final_div_factor, share, anneal_strategy)


def _between(start: float, end: float, share: float, strategy: str) -> float:
    if strategy == "linear":
        return start + (end - start) * share
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


def cyclic(
    base: float,
    t: int,
    *,
    max_lr: Rate,
    base_lr: Annotated[float | None, Range(0)] = None,
    step_size_up: Length = 2000,
    step_size_down: Annotated[int | None, Range(1)] = None,
    mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
    gamma: Factor = 1.0,
) -> float:
    """Straight up from base_lr to max_lr and down again, over and over, as torch's CyclicLR (Smith 2017).

    "triangular2" halves the height with each cycle, "exp_range" multiplies it by gamma ** t. Without base_lr the
    starting rate is the lowest; without step_size_down it falls as fast as it rises. Momentum is not cycled.
    """
    lowest = base if base_lr is None else base_lr
    down = step_size_up if step_size_down is None else step_size_down
    cycle, place = divmod(t, step_size_up + down)
    height = place / step_size_up if place <= step_size_up else (step_size_up + down - place) / down
    scale = gamma**t if mode == "exp_range" else 0.5**cycle if mode == "triangular2" else 1.0
    return lowest + (max_lr - lowest) * height * scale


def check_cyclic(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find bounds that are the wrong way round."""
    low, high = options["base_lr"], options["max_lr"]
    if low is not None and low > high:
        yield "/max_lr", f"cyclic.max_lr must be at least base_lr ({low:g}), not {high:g}"
