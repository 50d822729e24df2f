"""Laws: what holds for every op of the registry, on every sample that it declares.

A law is a function decorated with `law`; `broken` applies all laws to one op and returns a report of each broken one.
The samples of an op, with what is computed from them (see `Case`), are shared by all laws.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.registry import Op
from tests.engine.laws.case import Case
from tests.extent import paired

Wanted = Callable[[Case], bool]
LAWS: list[Law] = []
HARMLESS = ".*(every pair of the broadcast shape|mean loss of an empty batch)"
"""Warnings of calls that differ from those of the samples."""


@dataclass(frozen=True)
class Law:
    """A function of a case, of a case and a dtype, or of an op's cases: it raises where the law is broken."""

    check: Callable[..., None]
    wanted: Wanted
    dtypes: Sequence[Any]
    of_the_op: bool
    with_warnings: bool

    @property
    def name(self) -> str:
        """What holds."""
        return self.check.__name__.replace("_", " ")

    def points(self, cases: list[Case]) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments that the function is called with."""
        if self.of_the_op:
            yield (cases,)
            return
        wanted = [case for case in cases if self.wanted(case)]
        yield from paired(wanted, self.dtypes) if self.dtypes else ((case,) for case in wanted)


def law(
    wanted: Wanted = lambda _: True, dtypes: Sequence[Any] = (), *, of_the_op: bool = False, with_warnings: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a law.

    Args:
        wanted: which cases it is about.
        dtypes: the second argument of the function: each dtype with some case, and each case with some dtype.
        of_the_op: the function gets all cases of an op at once.
        with_warnings: HARMLESS warnings are expected.
    """

    def declare(check: Callable[..., None]) -> Callable[..., None]:
        LAWS.append(Law(check, wanted, dtypes, of_the_op, with_warnings))
        return check

    return declare


def cases_of(op: Op[Any]) -> list[Case]:
    """Return a case for each sample of an op."""
    return [Case(op, number, sample) for number, sample in enumerate(op.samples)]


def broken(op: Op[Any]) -> tuple[list[str], Exception | None]:
    """Apply all laws to an op; return a report of each broken one, and the first of the errors."""
    found: list[str] = []
    first: Exception | None = None
    cases = cases_of(op)
    for each in LAWS:
        for arguments in each.points(cases):
            try:
                with warnings.catch_warnings():
                    if each.with_warnings:
                        warnings.filterwarnings("ignore", HARMLESS)
                    each.check(*arguments)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is reported beside the others
                where = "" if each.of_the_op else ", ".join(map(str, arguments)) + ": "
                found.append(f"{each.name}\n  {where}{type(error).__name__}: {error}")
                first = first or error
    return found, first
