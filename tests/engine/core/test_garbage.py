import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from engine.core.garbage import OldGenerations

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def _usual_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def test_survivors_are_visited_rarely_inside_and_the_youngest_as_usual() -> None:
    with OldGenerations().deferred():
        youngest, older, _ = gc.get_threshold()
        assert youngest == USUAL[0]
        assert older > 10 * USUAL[1]
    assert gc.get_threshold() == USUAL


def test_thresholds_return_when_the_last_of_nested_blocks_ends_even_by_an_error() -> None:
    generations = OldGenerations()

    def fail() -> None:
        with generations.deferred(), generations.deferred():
            raise ValueError

    with generations.deferred():
        with pytest.raises(ValueError, match=r"^$"):
            fail()
        assert gc.get_threshold() != USUAL
    assert gc.get_threshold() == USUAL


def test_blocks_of_several_threads_overlap() -> None:
    generations, both_inside = OldGenerations(), Barrier(2)

    def enter(_: int) -> tuple[int, int, int]:
        with generations.deferred():
            both_inside.wait(timeout=60)
            return gc.get_threshold()

    with ThreadPoolExecutor(2) as threads:
        assert USUAL not in list(threads.map(enter, range(2)))
    assert gc.get_threshold() == USUAL


def test_a_collection_that_is_due_happens_before_the_block() -> None:
    generations = OldGenerations()
    with generations.deferred():
        due: list[list[int]] = [[] for _ in range(USUAL[0] * 2 * USUAL[1])]
        assert gc.get_count()[1] > USUAL[1]
    del due
    with generations.deferred():
        assert gc.get_count()[1] < USUAL[1]
