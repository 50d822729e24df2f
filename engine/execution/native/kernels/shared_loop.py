"""Kernels whose body is a loop that threads share: see `engine.execution.native.inline.shared_loops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.execution.native.inline.shared_loops import (
    LOOP,
    OWN,
    ROUND,
    ROUNDS,
    begin_round,
    end_iteration,
    end_round,
    take_iteration,
)
from engine.execution.native.inline.threads import load

LEAST_BLOCKS, LEAST_ROWS = 4, 64
"""Fewest blocks that rows are cut into, unless these had fewer rows."""


def prepare(*_: Any) -> None:
    """Stand for what a thread does before its first iteration of a round, given the words and the round's number."""
    raise NotImplementedError


def iterate(*_: Any) -> None:
    """Stand for an iteration, given the words, the number of the round if there are several, and the iteration's."""
    raise NotImplementedError


def run_rounds(a: Any) -> None:
    """Run all rounds, or for another thread what is left of one."""
    loop, own = a[LOOP], a[OWN]
    prepared = -1
    for number in range(load(loop + ROUNDS) if own else 1):
        begin_round(loop, own, number)
        taken = take_iteration(loop)
        while taken >= 0:
            if taken // ROUND != prepared:
                prepared = taken // ROUND
                prepare(a, prepared)
            iterate(a, prepared, taken % ROUND)
            end_iteration(loop)
            taken = take_iteration(loop)
        end_round(loop, own)


def run_round(a: Any) -> None:
    """Run a loop of one round, or for another thread what is left of it."""
    loop, own = a[LOOP], a[OWN]
    begin_round(loop, own, 0)
    taken = take_iteration(loop)
    while taken >= 0:
        iterate(a, taken)
        end_iteration(loop)
        taken = take_iteration(loop)
    end_round(loop, own)


def round_parts(iterate: Callable[..., None]) -> dict[str, Callable[..., Any]]:
    """Return the parts of a kernel that calls `run_round`."""
    return {"iterate": iterate, "run_round": run_round}


def loop_parts(prepare: Callable[..., None], iterate: Callable[..., None]) -> dict[str, Callable[..., Any]]:
    """Return the parts of a kernel that calls `run_rounds`."""
    return {"prepare": prepare, "iterate": iterate, "run_rounds": run_rounds}


def rows_of_block(rows: int, most: int, multiple: int) -> int:
    """Return how many rows a block has, a multiple unless it is the only one, so that all are about equal."""
    blocks = max(-(-rows // most), min(LEAST_BLOCKS, rows // LEAST_ROWS), 1)
    even = -(-rows // blocks)
    return rows if blocks == 1 else -(-even // multiple) * multiple
