import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16
from engine.core.errors import AttributeValueError, CollectiveError, DTypeError, RankAborted, RankLost, ShapeError
from engine.training.distributed.collective import Alone, in_memory
from engine.training.distributed.shared_memory import Rendezvous
from tests.support.patience import PATIENCE
from tests.support.rows import each_row

from .network import over_network

PIECE_BYTES = 256  # so that a test's buffers need several
DTYPES = ["float64", "float32", "float16", "int64", "int32", "uint8", *(["bfloat16"] if BFLOAT16 else [])]


class Threads:
    """The ranks of a collective, each of which a thread plays."""

    def __init__(self, ends: list[Any]) -> None:
        self.ends = ends

    def play(self, *parts: Callable[[Any], Any]) -> list[Any]:
        """Have each rank call its part (or all the only one) with its end; return what they returned or raised."""
        results: list[Any] = [None] * len(self.ends)

        def act(rank: int) -> None:
            try:
                results[rank] = parts[rank % len(parts)](self.ends[rank])
            except CollectiveError as error:
                results[rank] = error

        threads = [threading.Thread(target=act, args=(rank,), daemon=True) for rank in range(len(self.ends))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a rank waits for ever"
        return results


def over_shared_memory(size: int) -> list[Any]:
    """Join in one process what otherwise a process each does: every end keeps its own ends of the pipes."""
    rendezvous = Rendezvous(size, PIECE_BYTES)
    links = rendezvous._links
    ends = []
    for rank in range(size):
        rendezvous._links = {
            other: tuple(type(link)(os.dup(link.incoming), os.dup(link.outgoing)) for link in pair)
            for other, pair in links.items()
        }
        ends.append(rendezvous.join(rank))
    for pair in links.values():
        for link in pair:
            link.close()
    return ends


@pytest.fixture(params=[in_memory, over_shared_memory, over_network])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[int], Threads]]:
    created: list[Threads] = []

    def build(size: int) -> Threads:
        created.append(Threads(request.param(size)))
        return created[-1]

    yield build
    for threads in created:
        for end in threads.ends:
            end.close()


def numbers(dtype: str, elements: int, rank: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng((elements, rank))
    kind: Any = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    scale = 1e3 if kind.kind in "fV" else 50
    return (generator.standard_normal(elements) * scale).astype("int64" if kind.kind == "i" else "float64").astype(kind)


def added(buffers: list[np.ndarray[Any, Any]]) -> bytes:
    total = buffers[0]
    for more in buffers[1:]:
        total = total + more
    return total.tobytes()


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_sum_is_added_in_the_order_of_ranks_and_has_the_same_bits_on_all(
    make: Callable[[int], Threads], size: int, dtype: str
) -> None:
    lengths = (0, 1, 2, 31, 32, 64, 1000)

    def part(end: Any) -> list[bytes]:
        sums = []
        for elements in lengths:
            buffer = numbers(dtype, elements, end.rank)
            end.allreduce_(buffer)
            sums.append(buffer.tobytes())
        return sums

    expected = [added([numbers(dtype, elements, rank) for rank in range(size)]) for elements in lengths]
    assert make(size).play(part) == [expected] * size


def test_a_sum_that_is_shared_out_has_the_bits_of_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def part(end: Any) -> bytes:
        buffer = numbers("float32", 777, end.rank)
        end.allreduce_(buffer)
        end.allreduce_(buffer)
        end.close()
        return buffer.tobytes()

    whole = Threads(over_shared_memory(4)).play(part)
    monkeypatch.setattr("engine.training.distributed.shared_memory.SHARED_OUT_BYTES", 0)
    assert Threads(over_shared_memory(4)).play(part) == whole


def test_what_a_diverged_fit_adds_up_passes_without_a_warning(make: Callable[[int], Threads]) -> None:
    def part(end: Any) -> list[float]:
        buffer = np.array([np.nan, np.inf if end.rank else -np.inf, 3e38], "float32")
        end.allreduce_(buffer)
        return [str(number) for number in buffer]

    assert make(2).play(part) == [["nan", "nan", "inf"]] * 2


def test_a_part_of_an_array_is_summed_in_place(make: Callable[[int], Threads]) -> None:
    def part(end: Any) -> list[int]:
        whole = np.arange(6) + end.rank
        end.allreduce_(whole[1::2])
        return [int(number) for number in whole]

    assert make(2).play(part) == [[0, 3, 2, 7, 4, 11], [1, 3, 3, 7, 5, 11]]


@pytest.mark.parametrize("lengths", [(0, 0, 0), (1, 0, 2), (5, 1000, 256), (255, 256, 257), (0, 512, 513)])
def test_everyone_hears_what_each_rank_says(make: Callable[[int], Threads], lengths: tuple[int, ...]) -> None:
    payloads = [bytes([65 + rank]) * length for rank, length in enumerate(lengths)]
    assert make(3).play(lambda end: end.gather(payloads[end.rank])) == [payloads] * 3


def test_many_operations_of_all_kinds_follow_each_other(make: Callable[[int], Threads]) -> None:
    def part(end: Any) -> list[Any]:
        results: list[Any] = []
        for turn in range(200):
            buffer = np.full(turn, end.rank + turn, "int32")
            end.allreduce_(buffer)
            results.append(set(buffer.tolist()))
            if turn % 3 == 0:
                end.barrier()
            results.append(end.gather(b"%d %d" % (end.rank, turn)))
        return results

    expected = [
        result
        for turn in range(200)
        for result in ({3 * turn + 3} if turn else set(), [b"%d %d" % (rank, turn) for rank in range(3)])
    ]
    assert make(3).play(part) == [expected] * 3


def test_nobody_passes_a_barrier_before_all_have_come(make: Callable[[int], Threads]) -> None:
    come: list[int] = []

    def part(end: Any) -> int:
        threading.Event().wait(0.02 * end.rank)
        come.append(end.rank)
        end.barrier()
        return len(come)

    assert make(3).play(part) == [3, 3, 3]


@pytest.mark.parametrize("gone", [0, 1, 2])
@pytest.mark.parametrize(
    "operation", [lambda end: end.barrier(), lambda end: end.gather(b""), lambda end: end.allreduce_(np.ones(3))]
)
def test_a_rank_that_leaves_is_missed_by_all(
    make: Callable[[int], Threads], gone: int, operation: Callable[[Any], object]
) -> None:
    def part(end: Any) -> None:
        end.barrier()
        if end.rank != gone:
            try:
                operation(end)
            finally:
                end.close()
        end.close()

    results = make(3).play(part)
    assert results[gone] is None
    assert all(isinstance(result, RankLost) for rank, result in enumerate(results) if rank != gone)


def test_who_has_left_does_nothing_more(make: Callable[[int], Threads]) -> None:
    end = make(1).ends[0]
    end.close()
    end.close()
    with pytest.raises(RankLost):
        end.allreduce_(np.ones(2))


@pytest.mark.parametrize("quitter", [0, 1, 2])
def test_a_rank_that_gives_up_reports_why_to_the_others(make: Callable[[int], Threads], quitter: int) -> None:
    def part(end: Any) -> None:
        end.barrier()
        if end.rank == quitter:
            end.abort("labels out of range é".encode())
        else:
            end.allreduce_(np.ones(1000))

    results = make(3).play(part)
    assert results.pop(quitter) is None
    for result in results:
        assert isinstance(result, RankAborted)
        assert (result.rank, result.reason.decode()) == (quitter, "labels out of range é")
        assert f"rank {quitter} gave up: labels out of range é" in str(result)


def test_giving_up_after_the_others_have_left_is_no_fault(make: Callable[[int], Threads]) -> None:
    assert make(2).play(lambda end: end.close(), lambda end: end.abort(b"too late")) == [None, None]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            lambda end: end.allreduce_(np.ones(4 + end.rank, "float32")),
            "allreduce_ of 4 float32.*allreduce_ of 5 float32",
        ),
        (lambda end: end.allreduce_(np.ones(4, ("float32", "float64")[end.rank])), "4 float32.*4 float64"),
        (lambda end: end.barrier() if end.rank else end.gather(b""), "rank 0 is at gather, rank 1 at barrier"),
    ],
)
def test_ranks_that_do_not_do_the_same_fail(
    make: Callable[[int], Threads], part: Callable[[Any], object], message: str
) -> None:
    for result in make(2).play(part):
        assert type(result) is CollectiveError
        with pytest.raises(CollectiveError, match=message):
            raise result


@each_row(
    ("buffer", "error"),
    [
        (np.ones(3, "bool"), DTypeError),
        (np.ones(3, "complex64"), DTypeError),
        (np.ones(3, ">f4"), DTypeError),
        (np.ones((3, 1)), ShapeError),
        (np.ones(()), ShapeError),
    ],
)
@each_row("end", [Alone(), *in_memory(1), *over_shared_memory(1)], ids=lambda end: type(end).__name__)
def test_a_buffer_that_cannot_be_summed_is_refused(end: Any, buffer: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="allreduce_"):
        end.allreduce_(buffer)


def test_who_is_alone_keeps_what_it_has() -> None:
    alone, buffer = Alone(), np.arange(3.0)
    alone.allreduce_(buffer)
    alone.barrier()
    alone.abort(b"nobody hears")
    alone.close()
    assert (alone.rank, alone.size, alone.gather(b"me"), buffer.tolist()) == (0, 1, [b"me"], [0.0, 1.0, 2.0])


@each_row("arguments", [(0,), (-1,), (2, 0), (2, 12)])
def test_a_rendezvous_of_no_rank_or_of_odd_pieces_is_refused(arguments: tuple[int, ...]) -> None:
    with pytest.raises(AttributeValueError, match="rendezvous"):
        Rendezvous(*arguments)
    with pytest.raises(AttributeValueError, match="size >= 1"):
        in_memory(0)
