"""Schedules as functions of the number of steps: decay, annealing, warm-up and cycles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from engine.core.attributes import Factor, Length, Range, Rate, Share
from engine.core.errors import AttributeValueError


def constant(base: float, t: int) -> float:
    """The initial rate throughout."""
    return base


def multiplicative(base: float, t: int, *, factor: Annotated[float | tuple[float, ...], Range(0)]) -> float:
    """base * factor[0] * ... * factor[t - 1], as torch's MultiplicativeLR with a list of factors.

    A single number is the factor of every step; after the end of a list the rate is constant.
    """
    return base * (math.prod(factor[:t]) if isinstance(factor, tuple) else factor**t)


def step(base: float, t: int, *, step_size: Length, gamma: Factor = 0.1) -> float:
    """base * gamma ** (t // step_size), as torch's StepLR."""
    return base * gamma ** (t // step_size)


def multi_step(base: float, t: int, *, milestones: Annotated[tuple[int, ...], Range(1)], gamma: Factor = 0.1) -> float:
    """base * gamma ** (the number of milestones up to t), as torch's MultiStepLR; a repeated milestone counts twice."""
    return base * gamma ** sum(milestone <= t for milestone in milestones)


def constant_factor(base: float, t: int, *, factor: Share = 1 / 3, total_iters: Length = 5) -> float:
    """base * factor before total_iters, base afterwards, as torch's ConstantLR."""
    return base * factor if t < total_iters else base


def linear(
    base: float,
    t: int,
    *,
    start_factor: Annotated[float, Range(0, 1, above=True)] = 1 / 3,
    end_factor: Share = 1.0,
    total_iters: Length = 5,
) -> float:
    """base times a factor that changes linearly from start_factor to end_factor in total_iters, as torch's LinearLR."""
    return base * (start_factor + (end_factor - start_factor) * min(t, total_iters) / total_iters)


def exponential(base: float, t: int, *, gamma: Factor) -> float:
    """base * gamma ** t, as torch's ExponentialLR."""
    return base * gamma**t


def polynomial(base: float, t: int, *, total_iters: Length = 5, power: Annotated[float, Range(0)] = 1.0) -> float:
    """base * (1 - min(t, total_iters) / total_iters) ** power, as torch's PolynomialLR."""
    return base * math.pow(1 - min(t, total_iters) / total_iters, power)


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

    After t_max the rate rises again, or with `restart` the cosine starts again. compat "ggmlR" is one step late, as
    that
    library: the first step does not change the rate, and the schedule stops at t_max - 1.
    """
    if compat == "ggmlR":
        t = max(t - 1, 0) if restart else min(max(t - 1, 0), t_max - 1)
    if restart:
        t %= t_max
    return eta_min + (base - eta_min) * (1 + math.cos(math.pi * t / t_max)) / 2


def cosine_warm_restarts(base: float, t: int, *, t_0: Length, t_mult: Length = 1, eta_min: Rate = 0.0) -> float:
    """A cosine from base to eta_min with restarts, as torch's CosineAnnealingWarmRestarts (SGDR 2017).

    The first period takes t_0, each later one t_mult times as long as the one before.
    """
    length = t_0
    if t_mult == 1:
        t %= length
    while t >= length:
        t -= length
        length *= t_mult
    return eta_min + (base - eta_min) * (1 + math.cos(math.pi * t / length)) / 2


Divisor = Annotated[float, Range(0, above=True)]
Momentum = Annotated[float, Range(0, 1, above=True, below=True)]


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
    three_phase: bool = False,
    cycle_momentum: bool = True,
    base_momentum: Momentum = 0.85,
    max_momentum: Momentum = 0.95,
) -> float:
    """From max_lr / div_factor up to max_lr, then down to that start / final_div_factor, as torch's OneCycleLR.

    The rise takes the share pct_start of total_steps (Smith and Topin 2017, in two phases). With `three_phase` the rate
    returns to its start in the same time, and then falls to the end. The default of max_lr is the initial rate. With
    `cycle_momentum` the momentum, or beta1, of the optimizer goes from max_momentum to base_momentum and back; set it
    to false for an optimizer without momentum.

    Raises:
        AttributeValueError: t is past total_steps.
    """
    start = (base if max_lr is None else max_lr) / div_factor
    cycle = _Cycle(total_steps, pct_start, anneal_strategy, three_phase)
    return cycle.at(t, start, base if max_lr is None else max_lr, start / final_div_factor)


def one_cycle_momentum(t: int, options: Mapping[str, Any]) -> float | None:
    """Return the momentum after `t`, or None if it is not cycled.

    Raises:
        AttributeValueError: t is past total_steps.
    """
    if not options["cycle_momentum"]:
        return None
    cycle = _Cycle(*(options[name] for name in ("total_steps", "pct_start", "anneal_strategy", "three_phase")))
    return cycle.at(t, options["max_momentum"], options["base_momentum"], options["max_momentum"])


@dataclass(frozen=True, slots=True)
class _Cycle:
    """The phases of a one_cycle."""

    total_steps: int
    pct_start: float
    strategy: str
    three_phase: bool

    def at(self, t: int, start: float, turn: float, end: float) -> float:
        """Return a quantity after `t` that goes from start to turn, then to end; in three phases by way of start."""
        if t > self.total_steps:
            past = f"one_cycle is past its end: it has total_steps {self.total_steps}, and the rate after {t} was asked"
            raise AttributeValueError(f"{past} for; set total_steps to the length of the run")
        rise, last = self.pct_start * self.total_steps - 1, self.total_steps - 1
        fall = 2 * self.pct_start * self.total_steps - 2
        back = [(rise, fall, turn, start), (fall, last, start, end)] if self.three_phase else [(rise, last, turn, end)]
        phases = [(0.0, rise, start, turn), *back]
        begin, finish, before, after = next((phase for phase in phases if t <= phase[1]), phases[-1])
        share = (t - begin) / (finish - begin) if finish != begin else 1.0
        return _between(before, after, share, self.strategy)


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
    cycle_momentum: bool = True,
    base_momentum: Momentum = 0.8,
    max_momentum: Momentum = 0.9,
) -> float:
    """Linearly up from base_lr to max_lr and down again, repeatedly, as torch's CyclicLR (Smith 2017).

    "triangular2" halves the height with each cycle, "exp_range" multiplies it by gamma ** t. The default of base_lr is
    the initial rate, that of step_size_down the length of the rise. With `cycle_momentum` the momentum, or beta1, of
    the optimizer goes down from max_momentum towards base_momentum and up again; set it to false for an optimizer
    without momentum.
    """
    lowest = base if base_lr is None else base_lr
    height, scale = _height(t, step_size_up, step_size_down, mode, gamma)
    return lowest + (max_lr - lowest) * height * scale


def cyclic_momentum(t: int, options: Mapping[str, Any]) -> float | None:
    """Return the momentum after `t`, or None if it is not cycled."""
    if not options["cycle_momentum"]:
        return None
    shape = (options[name] for name in ("step_size_up", "step_size_down", "mode", "gamma"))
    height, scale = _height(t, *shape)
    most, least = options["max_momentum"], options["base_momentum"]
    return float(most - (most - least) * height * scale)


def _height(t: int, up: int, step_size_down: int | None, mode: str, gamma: float) -> tuple[float, float]:
    """Return the height of a cycle, from 0 to 1, and the factor of its amplitude."""
    down = up if step_size_down is None else step_size_down
    cycle, place = divmod(t, up + down)
    height = place / up if place <= up else (up + down - place) / down
    return height, gamma**t if mode == "exp_range" else 0.5**cycle if mode == "triangular2" else 1.0


def check_cyclic(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find bounds in the wrong order, and a range that would exceed valid momenta."""
    low, high = options["base_lr"], options["max_lr"]
    if low is not None and low > high:
        yield "/max_lr", f"cyclic.max_lr must be at least base_lr ({low:g}), not {high:g}"
    if options["cycle_momentum"] and options["mode"] == "exp_range" and options["gamma"] > 1:
        yield "/gamma", "cyclic.gamma must be at most 1 while it scales the momentum too; set cycle_momentum to false"
