"""Successive halving: who goes on to which rung, whatever the order in which variants come in."""

import itertools
import math
import random

import engine
from engine.training.sweep.halving import SuccessiveHalving, rungs
from tests.support.rows import each_row


@each_row(
    ("total", "variants", "eta", "first", "expected"),
    [
        (81, 81, 3, None, (1, 3, 9, 27)),
        (12, 4, 2, None, (3, 6)),
        (100, 9, 3, None, (11, 33, 99)),
        (100, 1, 3, None, ()),
        (2, 64, 2, None, (1,)),
        (100, 8, 2, 10, (10, 20, 40, 80)),
        (10, 8, 2, 10, ()),
    ],
)
def test_the_rungs(total: int, variants: int, eta: int, first: int | None, expected: tuple[int, ...]) -> None:
    assert rungs(total, variants, eta, first) == expected


def climb(halving: SuccessiveHalving, values: list[list[float | None]]) -> list[list[int]]:
    """Run all variants, whose values at the rungs are given; return who ran to each rung, and at last to the end."""
    runs = []
    while not halving.done:
        runs.append(halving.ready())
        for variant in runs[-1]:
            rung = len(runs) - 1
            if halving.goal(variant) is None:
                halving.end(variant)
            else:
                assert halving.goal(variant) == halving.steps[rung]
                halving.reach(variant, values[variant][rung])
        for left in halving.left_behind():
            halving.end(left.variant)
    return runs


TABLE = [
    ("min", [1, 2, 3, 4, 5, 6, 7, 8], [[*range(8)], [0, 1, 2, 3], [0, 1], [0]]),
    ("max", [1, 2, 3, 4, 5, 6, 7, 8], [[*range(8)], [4, 5, 6, 7], [6, 7], [7]]),
    ("min", [1] * 8, [[*range(8)], [0, 1, 2, 3], [0, 1], [0]]),
    ("min", [math.nan, None, 3, math.inf, -math.inf, 2, 1, 9], [[*range(8)], [2, 5, 6, 7], [5, 6], [6]]),
    ("min", [math.nan] * 8, [[*range(8)], [0, 1, 2, 3], [0, 1], [0]]),
]


@each_row(("mode", "values", "expected"), TABLE)
def test_the_best_of_every_eta_go_on(mode, values, expected) -> None:
    halving = SuccessiveHalving(8, (1, 2, 4), eta=2, mode=mode)
    assert halving.total_steps(8) == 8 + 4 + 2 * 2 + 4
    assert climb(halving, [[value] * 3 for value in values]) == expected


def test_a_ladder_without_rungs_runs_every_variant_to_its_end() -> None:
    assert climb(SuccessiveHalving(3), [[]] * 3) == [[0, 1, 2]]
    assert SuccessiveHalving(3).total_steps(10) == 30


def test_nothing_is_decided_before_all_have_come() -> None:
    halving = SuccessiveHalving(4, (1,), eta=2)
    for variant in (3, 1, 0):
        halving.reach(variant, float(variant))
        assert halving.left_behind() == []
    assert halving.ready() == [2]
    halving.reach(2, -1.0)
    assert halving.ready() == [0, 2]
    assert [(left.variant, left.rank, left.of) for left in halving.left_behind()] == [(1, 3, 4), (3, 4, 4)]
    assert halving.left_behind()[0].reason == "left behind at step 1: rank 3 of 4"


def test_a_variant_that_ends_before_its_rung_is_not_waited_for_and_takes_no_place() -> None:
    halving = SuccessiveHalving(4, (1,), eta=2)
    halving.end(0)
    for variant in (1, 2, 3):
        halving.reach(variant, float(variant))
    assert halving.ready() == [1, 2]


def test_if_all_end_before_a_rung_nothing_is_left_to_run() -> None:
    halving = SuccessiveHalving(2, (1, 2), eta=2)
    halving.end(0)
    halving.end(1)
    assert halving.done
    assert halving.ready() == []


def test_the_order_in_which_variants_come_in_makes_no_difference() -> None:
    values = [4.0, 2.0, 3.0, 1.0, 2.0]
    found = set()
    for order in itertools.permutations(range(5)):
        halving = SuccessiveHalving(5, (10,), eta=2)
        for variant in order:
            halving.reach(variant, values[variant])
        found.add(tuple(halving.ready()))
    assert found == {(1, 3)}


def test_a_ladder_that_is_taken_up_again_anywhere_comes_to_the_same_end() -> None:
    dice = random.Random(7)
    table = [[dice.random() for _ in range(3)] for _ in range(9)]
    expected = climb(SuccessiveHalving(9, (1, 2, 4), eta=2), table)[-1]
    for breaks in range(40):
        chance = random.Random(breaks)
        reached: list[list[float | None]] = [[] for _ in range(9)]
        ended: set[int] = set()
        last: list[int] = []
        while True:
            # A process begins with what was written down, and is lost after a few events.
            halving = SuccessiveHalving(9, (1, 2, 4), eta=2, reached=reached, ended=ended)
            for _ in range(chance.randint(1, 6)):
                for left in halving.left_behind():
                    halving.end(left.variant)
                    ended.add(left.variant)
                ready = halving.ready()
                if not ready:
                    break
                variant = chance.choice(ready)
                rung = len(reached[variant])
                if halving.goal(variant) is None:
                    last.append(variant)
                    halving.end(variant)
                    ended.add(variant)
                else:
                    halving.reach(variant, table[variant][rung])
                    reached[variant].append(table[variant][rung])
            if len(ended) == 9:
                break
        assert last == expected


def test_the_names_of_the_package_are_complete() -> None:
    assert set(engine.sweep.__all__) <= set(dir(engine.sweep))
