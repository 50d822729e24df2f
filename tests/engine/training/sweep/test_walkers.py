"""Threads that carry variants: each variant in one thread at a time, all of them to their ends."""

import threading

import pytest

from engine.training.sweep import Ended, Halted, Ladder, LeftBehind, Reached, Walkers
from tests.patience import PATIENCE


def test_variants_run_side_by_side_and_all_come_to_their_ends() -> None:
    together = threading.Barrier(3, timeout=PATIENCE)
    ran: list[int] = []

    def carry(variant: int, goal: int | None) -> Ended:
        together.wait()
        ran.append(variant)
        return Ended()

    ladder = Ladder(3)
    assert Walkers(ladder, carry, print, threads=3).run()
    assert sorted(ran) == [0, 1, 2]
    assert ladder.done


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_those_left_behind_are_ended_once(threads: int) -> None:
    left: list[LeftBehind] = []
    goals: list[tuple[int, int | None]] = []

    def carry(variant: int, goal: int | None) -> Reached | Ended:
        goals.append((variant, goal))
        return Ended() if goal is None else Reached(float(variant))

    assert Walkers(Ladder(4, (5, 10), eta=2), carry, left.append, threads=threads).run()
    assert sorted(goals, key=str) == [(0, 10), (0, 5), (0, None), (1, 10), (1, 5), (2, 5), (3, 5)]
    assert [(each.variant, each.step) for each in left] == [(2, 5), (3, 5), (1, 10)]


def test_a_sweep_that_is_halted_goes_on_where_it_was() -> None:
    carried: list[int] = []
    ladder = Ladder(4)

    def carry(variant: int, goal: int | None) -> Ended | Halted:
        if variant == 2 and not carried[2:]:
            carried.append(-1)
            return Halted()
        carried.append(variant)
        return Ended()

    assert not Walkers(ladder, carry, print).run()
    assert carried == [0, 1, -1]
    assert Walkers(ladder, carry, print).run()
    assert carried == [0, 1, -1, 2, 3]


@pytest.mark.parametrize("threads", [1, 3])
def test_what_a_variant_raises_comes_out_and_the_others_stop(threads: int) -> None:
    def carry(variant: int, goal: int | None) -> Ended:
        raise ValueError("no")

    ladder = Ladder(64)
    with pytest.raises(ValueError, match="no"):
        Walkers(ladder, carry, print, threads=threads).run()
    assert not ladder.done
