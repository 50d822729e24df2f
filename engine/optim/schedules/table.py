"""The table of schedules by kind, and its description for clients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from engine.core.attributes import Attribute, attributes_of
from engine.core.constraints import constraints_of
from engine.optim.schedules.composed import (
    Member,
    chained,
    chained_momentum,
    check_chained,
    check_sequential,
    sequential,
    sequential_momentum,
    warm_up,
    warm_up_momentum,
)
from engine.optim.schedules.factors import (
    check_cyclic,
    constant,
    constant_factor,
    cosine,
    cosine_warm_restarts,
    cyclic,
    cyclic_momentum,
    exponential,
    linear,
    multi_step,
    multiplicative,
    one_cycle,
    one_cycle_momentum,
    polynomial,
    step,
)
from engine.optim.schedules.plateau import reduce_on_plateau

Check = Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]

SCHEDULES: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        rate.__name__: rate
        for rate in (
            constant,
            step,
            cosine,
            multiplicative,
            multi_step,
            constant_factor,
            linear,
            exponential,
            polynomial,
            cosine_warm_restarts,
            one_cycle,
            cyclic,
            reduce_on_plateau,
            sequential,
            chained,
            warm_up,
        )
    }
)
"""Every schedule by its kind: rate(base, t, options)."""

MOMENTA: Mapping[str, Callable[[int, Mapping[str, Any]], float | None]] = MappingProxyType(
    {
        "one_cycle": one_cycle_momentum,
        "cyclic": cyclic_momentum,
        "sequential": sequential_momentum,
        "chained": chained_momentum,
        "warm_up": warm_up_momentum,
    }
)
"""The schedules that may set the momentum too, by kind: momentum(t, options), None where they do not."""

CHECKS: Mapping[str, Check] = MappingProxyType(
    {"cyclic": check_cyclic, "sequential": check_sequential, "chained": check_chained}
)
"""What is wrong between the options of a kind: pairs of a pointer below the schedule and a sentence."""

NESTED = MappingProxyType({Member: "a schedule", tuple[Member, ...]: "a list of schedules"})
"""The types of options that hold schedules, in words."""


def schedule_catalogue() -> list[dict[str, Any]]:
    """Describe every schedule for a client: kind, documentation, options with their ranges."""
    return [
        {"kind": kind, "doc": inspect.getdoc(rate) or "", "attrs": _options(rate)} for kind, rate in SCHEDULES.items()
    ]


def _options(rate: Callable[..., float]) -> list[dict[str, Any]]:
    ranges = constraints_of(rate)
    return [
        {**_described(option), **({"range": str(ranges[option.name])} if option.name in ranges else {})}
        for option in attributes_of(rate)
    ]


def _described(option: Attribute) -> dict[str, Any]:
    if option.type in NESTED:
        return {"name": option.name, "type": NESTED[option.type], "required": option.required}
    return option.to_json()
