"""Threads that carry variants: each variant in one thread at a time, all of them to their ends."""

import threading

import pytest

from engine.training.sweep.halving import LeftBehind, SuccessiveHalving
from engine.training.sweep.sweep import Ended, Halted, Reached, VariantPool
from tests.support.patience import PATIENCE


def test_variants_run_side_by_side_and_all_come_to_their_ends() -> None:
    together = threading.Barrier(3, timeout=PATIENCE)
    ran: list[int] = []

    def run_variant(variant: int, goal: int | None) -> Ended:
        together.wait()
        ran.append(variant)
        return Ended()

    halving = SuccessiveHalving(3)
    assert VariantPool(halving, run_variant, print, threads=3).run()
    assert sorted(ran) == [0, 1, 2]
    assert halving.done


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_those_left_behind_are_ended_once(threads: int) -> None:
    left: list[LeftBehind] = []
    goals: list[tuple[int, int | None]] = []

    def run_variant(variant: int, goal: int | None) -> Reached | Ended:
        goals.append((variant, goal))
        return Ended() if goal is None else Reached(float(variant))

    assert VariantPool(SuccessiveHalving(4, (5, 10), eta=2), run_variant, left.append, threads=threads).run()
    assert sorted(goals, key=str) == [(0, 10), (0, 5), (0, None), (1, 10), (1, 5), (2, 5), (3, 5)]
    assert [(each.variant, each.step) for each in left] == [(2, 5), (3, 5), (1, 10)]


def test_a_sweep_that_is_halted_goes_on_where_it_was() -> None:
    carried: list[int] = []
    halving = SuccessiveHalving(4)

    def run_variant(variant: int, goal: int | None) -> Ended | Halted:
        if variant == 2 and not carried[2:]:
            carried.append(-1)
            return Halted()
        carried.append(variant)
        return Ended()

    assert not VariantPool(halving, run_variant, print).run()
    assert carried == [0, 1, -1]
    assert VariantPool(halving, run_variant, print).run()
    assert carried == [0, 1, -1, 2, 3]


@pytest.mark.parametrize("threads", [1, 3])
def test_what_a_variant_raises_comes_out_and_the_others_stop(threads: int) -> None:
    def run_variant(variant: int, goal: int | None) -> Ended:
        raise ValueError("no")

    halving = SuccessiveHalving(64)
    with pytest.raises(ValueError, match="no"):
        VariantPool(halving, run_variant, print, threads=threads).run()
    assert not halving.done
