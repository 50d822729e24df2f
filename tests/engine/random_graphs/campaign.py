"""Running random things of a seed one after the other, and reporting one that breaks the law."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from engine.execution.native.blas import numpy_blas
from tests.engine.random_graphs import fits
from tests.engine.random_graphs.law import Broken, check
from tests.engine.random_graphs.layers import random_layers
from tests.engine.random_graphs.program import Program
from tests.engine.random_graphs.shrink import shrink
from tests.engine.random_graphs.steps import random_program
from tests.engine.random_graphs.thresholds import Thresholds, random_thresholds

SEED = os.environ.get("LAW_SEED", "0")
"""Chosen in each run of the tests, see tests/conftest.py, unless it is given."""


@dataclass(frozen=True)
class Case:
    """A program, and the sizes from which on plans do things in another way."""

    program: Program
    thresholds: Thresholds


@dataclass(frozen=True)
class Kind:
    """A sort of random things.

    Attributes:
        make: the case of a seed and number.
        broken: what is wrong with it, or None.
        smaller: what is left of a case that is wrong in the same way.
        text: it as a person reads it.
    """

    make: Callable[[str], Any]
    broken: Callable[[Any], Broken | None]
    smaller: Callable[[Any, Broken], Any]
    text: Callable[[Any], str]


def broken(case: Case) -> Broken | None:
    """Run a program in every way; what it raises is reported as well."""
    try:
        return check(case.program, case.thresholds)
    except Exception as error:  # noqa: BLE001 - a program that ran on the tape as it was made has to run in every way
        last = traceback.extract_tb(error.__traceback__)[-1]
        return Broken(f"{type(error).__name__} in {last.name}", str(error)[:500])


def _smaller(case: Case, found: Broken) -> Case:
    def fails(program: Program) -> bool:
        again = broken(Case(program, case.thresholds))
        return again is not None and again.law == found.law

    return Case(shrink(case.program, fails), case.thresholds)


def _text(case: Case) -> str:
    return f"{case.program.text()}\n{case.thresholds}"


def _programs(make: Callable[[object], Program]) -> Kind:
    return Kind(lambda seed: Case(make(seed), random_thresholds(seed)), broken, _smaller, _text)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "graphs": _programs(random_program),
        "layers": _programs(random_layers),
        "fits": Kind(fits.random_fit, fits.broken, lambda case, _: case, fits.RandomFit.text),
    }
)


def failing(kind: Kind, seed: str, number: int) -> Broken | None:
    """Run the case of a number."""
    with numpy_blas().one_thread():
        return kind.broken(kind.make(f"{seed}/{number}"))


def report(kind: Kind, seed: str, number: int, found: Broken, *, shrunk: bool = True) -> str:
    """Report what is wrong, in the smallest case that could be found."""
    case = kind.make(f"{seed}/{number}")
    if shrunk:
        case = kind.smaller(case, found)
        found = kind.broken(case) or found
    return f"seed {seed} number {number}: {found}\n{kind.text(case)}"
