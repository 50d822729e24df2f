"""A schedule: its rates and momenta by step and epoch, read from a document, and the catalogue."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from engine.core.attributes import MISSING, Attribute, attributes_of, check, describe
from engine.core.errors import (
    AttributeValueError,
    DocumentError,
    EngineError,
    Finding,
    UnknownName,
    accepted_names,
    escape,
    nearest,
)
from engine.core.options import Reader, type_name
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
from engine.optim.schedules.plateau import Plateau, reduce_on_plateau


@dataclass(frozen=True)
class Schedule:
    """A schedule with its options, counted in epochs or in steps."""

    kind: str
    options: Mapping[str, Any]
    per: Literal["epoch", "step"]

    def at(self, base: float, t: int) -> float:
        """Return the rate after `t` epochs or steps from the rate `base`, without reductions on a plateau."""
        return SCHEDULES[self.kind](base, t, **self.options)

    def momentum_at(self, t: int) -> float | None:
        """Return the momentum after `t` epochs or steps, or None if the schedule sets none."""
        return MOMENTA[self.kind](t, self.options) if self.kind in MOMENTA else None

    @property
    def cycles_momentum(self) -> bool:
        """Whether it sets the momentum of the optimizer, which it then does in every step."""
        return self.momentum_at(0) is not None

    @property
    def constant(self) -> bool:
        """Whether the rate never changes."""
        return self.kind == "constant"

    def rate(self, base: float, *, epoch: int, step: int, plateau: Plateau | None = None) -> float:
        """Return the learning rate of a step, after `epoch` complete epochs and `step` complete steps; inf on overflow.

        `plateau` is the state of a schedule that depends on a metric; its rate replaces `base`.
        """
        try:
            return self.at(base if plateau is None else plateau.rate, self._count(epoch, step))
        except OverflowError:
            return math.inf

    def momentum(self, *, epoch: int, step: int) -> float | None:
        """Return the momentum, or beta1, of a step, counted as for `rate`; None if the schedule sets none."""
        return self.momentum_at(self._count(epoch, step))

    def start(self, base: float) -> Plateau | None:
        """Return the initial state of a schedule that depends on a metric; None for every other."""
        watching = self._watching()
        return None if watching is None else Plateau.start(base, watching.options)

    def observe(self, plateau: Plateau, metrics: Mapping[str, float], *, epoch: int, step: int) -> Plateau:
        """Return the state after another value of the metric, when `epoch` and `step` are complete.

        `metrics` holds "loss", and "val_loss" after a validation. Without the monitored metric the state is unchanged.
        """
        watching = self._watching()
        if watching is None or self._count(epoch, step) <= watching.delay:
            return plateau
        monitor = watching.options["monitor"] or ("val_loss" if "val_loss" in metrics else "loss")
        return plateau.observe(metrics[monitor], watching.options) if monitor in metrics else plateau

    def faults(self, *, steps: int, steps_per_epoch: int, validated: bool) -> Iterator[tuple[str, str]]:
        """Find what prevents a run of `steps`: pairs of a pointer below the schedule and a sentence."""
        watching = self._watching()
        if watching is not None and watching.options["monitor"] == "val_loss" and not validated:
            detail = "there are no rows to validate on; give 'validation', or monitor \"loss\""
            yield f"{watching.pointer}/monitor", detail
        try:
            self.rate(1.0, epoch=(steps - 1) // steps_per_epoch, step=steps - 1)
        except AttributeValueError as error:
            yield "", str(error)

    def _count(self, epoch: int, step: int) -> int:
        return epoch if self.per == "epoch" else step

    def _watching(self) -> _PlateauRule | None:
        """Return the part that depends on a metric: the schedule itself, or what it warms up to."""
        part: Schedule = self
        delay, pointer = 0, ""
        while part.kind == "warm_up":
            delay, pointer = delay + part.options["total_iters"], pointer + "/schedule"
            part = part.options["schedule"]
        return _PlateauRule(part.options, delay, pointer) if part.kind == "reduce_on_plateau" else None


@dataclass(frozen=True, slots=True)
class _PlateauRule:
    """The options of a reduce_on_plateau, the length of the warm-up before it, and its place in the schedule."""

    options: Mapping[str, Any]
    delay: int
    pointer: str


DEPTH = 8
"""Maximum nesting depth of schedules."""

MAX_SCHEDULES = 64
"""Maximum number of schedules in a list."""

Report = Callable[[str, EngineError], None]


def make_schedule(document: Mapping[str, Any]) -> Schedule:
    """Return a schedule from {"kind": ..., "per": "epoch" | "step", options}; options may hold further schedules.

    Raises:
        EngineError: the first fault, in the words of `read_schedule`.
    """
    faults: list[EngineError] = []
    schedule = _read(document, "", lambda _, error: faults.append(error))
    if schedule is None or faults:
        raise faults[0]
    return schedule


def read_schedule(reader: Reader, document: Any, pointer: str) -> Schedule | None:
    """Read the schedule at `pointer`; every fault is reported, and then the result may be None."""
    return _read(document, pointer, reader.error)


def _read(document: Any, pointer: str, report: Report) -> Schedule | None:
    per: Literal["epoch", "step"] = "epoch"
    if isinstance(document, Mapping) and "per" in document:
        document = dict(document)
        try:
            per = check("schedule.per", Literal["epoch", "step"], document.pop("per"))
        except EngineError as error:
            report(f"{pointer}/per", error)
    return _Reading(per, report).schedule(document, pointer, 1)


@dataclass(frozen=True)
class _Reading:
    """The state of reading one document."""

    per: Literal["epoch", "step"]
    report: Report

    def refuse(self, pointer: str, detail: str) -> None:
        """Report an invalid option."""
        self.report(pointer, AttributeValueError(detail))

    def schedule(self, document: Any, pointer: str, depth: int) -> Schedule | None:
        """Read one schedule and those inside it; a text alone is a kind without options."""
        document = {"kind": document} if isinstance(document, str) else document
        if not isinstance(document, Mapping):
            detail = f"must be an object, not {type_name(document)}"
            self.report(pointer, DocumentError([Finding("", "type_mismatch", detail)]))
            return None
        kind = document.get("kind")
        if not isinstance(kind, str) or kind not in SCHEDULES:
            shown = str(kind)[:64]
            hint = accepted_names(shown, SCHEDULES, "GET /v1/schedules")
            self.report(pointer, UnknownName(f"there is no schedule called {shown!r}{hint}"))
            return None
        if depth > DEPTH:
            self.refuse(pointer, f"schedules may stand within one another {DEPTH} deep, not deeper")
            return None
        options = self._options(kind, document, pointer, depth)
        return None if options is None else self._checked(Schedule(kind, options, self.per), pointer)

    def _options(self, kind: str, document: Mapping[str, Any], pointer: str, depth: int) -> dict[str, Any] | None:
        """Return every option, with defaults; None after a fault."""
        options = {option.name: option for option in attributes_of(SCHEDULES[kind])}
        unknown = [name for name in document if name != "kind" and name not in options]
        for name in unknown:
            self.refuse(f"{pointer}/{escape(name)}", _unknown(kind, str(name)[:64], options))
        found = {}
        for name, option in options.items():
            value = document.get(name, option.default)
            if value is MISSING:
                wanted = NESTED[option.type] if option.type in NESTED else describe(option.type)
                self.refuse(pointer, f"{kind} needs the option {name!r} ({wanted})")
                continue
            try:
                found[name] = self._option(option, value, f"{pointer}/{name}", kind, depth)
            except _Refused:
                continue
        return found if len(found) == len(options) and not unknown else None

    def _option(self, option: Attribute, value: Any, pointer: str, kind: str, depth: int) -> Any:
        """Read the value of an option, which may hold schedules."""
        if option.type is Member:
            return self._member(value, pointer, depth)
        if option.type in NESTED:
            if not isinstance(value, list | tuple):
                self.refuse(pointer, f"{kind}.{option.name} must be a list of schedules")
                raise _Refused
            if len(value) > MAX_SCHEDULES:
                self.refuse(pointer, f"{kind}.{option.name} may hold {MAX_SCHEDULES} schedules, not {len(value)}")
                raise _Refused
            members = [self.schedule(item, f"{pointer}/{index}", depth + 1) for index, item in enumerate(value)]
            if None in members:
                raise _Refused
            return tuple(members)
        try:
            return option.read(f"{kind}.{option.name}", value)
        except EngineError as error:
            self.report(pointer, error)
            raise _Refused from error

    def _member(self, value: Any, pointer: str, depth: int) -> Schedule:
        member = self.schedule(value, pointer, depth + 1)
        if member is None:
            raise _Refused
        return member

    def _checked(self, schedule: Schedule, pointer: str) -> Schedule | None:
        faults = list(CHECKS[schedule.kind](schedule.options)) if schedule.kind in CHECKS else []
        if self.per == "step" and schedule.options.get("monitor") == "val_loss":
            faults.append(("/monitor", 'val_loss is known once an epoch; per step, monitor "loss"'))
        for place, detail in faults:
            self.refuse(pointer + place, detail)
        return None if faults else schedule


class _Refused(Exception):  # noqa: N818 - it never leaves this module
    """A fault that has been reported."""


def _unknown(kind: str, name: str, options: Mapping[str, Attribute]) -> str:
    if name == "per":
        return "'per' counts for the whole schedule; give it beside the outermost kind"
    return f"{kind} has no option {name!r} (it has: {', '.join(options) or 'none'}){nearest(name, options)}"


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
        {"kind": kind, "doc": inspect.getdoc(rate) or "", "attrs": [_described(each) for each in attributes_of(rate)]}
        for kind, rate in SCHEDULES.items()
    ]


def _described(option: Attribute) -> dict[str, Any]:
    if option.type in NESTED:
        return {"name": option.name, "type": NESTED[option.type], "required": option.required}
    return option.to_json()
