"""The collective over gloo, between processes of this machine."""

import os
from typing import Any

import numpy as np
import pytest

from engine.training.distributed import gloo, network
from tests.engine.training.distributed.test_collective import DTYPES, added, numbers

from .ranks import MISSING, play

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_sum_is_added_in_the_order_of_ranks_and_has_the_same_bits_on_all(size: int) -> None:
    lengths = (0, 1, 3, 1000, 100_001)

    def part(end: network.NetworkCollective) -> list[bytes]:
        sums = []
        for dtype in DTYPES:
            for elements in lengths:
                buffer = numbers(dtype, elements, end.rank)
                end.allreduce_(buffer)
                sums.append(buffer.tobytes())
        end.barrier()
        end.close()
        return sums

    expected = [added([numbers(dtype, n, rank) for rank in range(size)]) for dtype in DTYPES for n in lengths]
    assert play(size, part) == [expected] * size


def test_a_buffer_of_several_pieces_is_summed_whole() -> None:
    elements = network.PIECE_BYTES // 4 + 10_001

    def part(end: network.NetworkCollective) -> bytes:
        buffer = numbers("float32", elements, end.rank)
        end.allreduce_(buffer)
        end.barrier()
        return buffer[::1000].tobytes()

    expected = np.frombuffer(added([numbers("float32", elements, rank) for rank in range(3)]), "float32")
    assert play(3, part) == [expected[::1000].tobytes()] * 3


def test_many_sums_and_messages_follow_each_other() -> None:
    def part(end: network.NetworkCollective) -> list[Any]:
        results: list[Any] = []
        for turn in range(100):
            buffer = np.full(300 * turn, end.rank + turn, "int32")
            end.allreduce_(buffer)
            results.append([set(buffer.tolist()), end.gather(b"%d %d" % (end.rank, turn))])
        return results

    expected = [
        [{3 * turn + 3} if turn else set(), [b"%d %d" % (rank, turn) for rank in range(3)]] for turn in range(100)
    ]
    assert play(3, part) == [expected] * 3


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_process_that_ends_is_missed_by_all(gone: int) -> None:
    def part(end: network.NetworkCollective) -> None:
        end.allreduce_(np.ones(100_000, "float32"))
        if end.rank == gone:
            os._exit(1)
        try:
            end.allreduce_(np.ones(100_000, "float32"))
        finally:
            end.close()

    assert play(3, part) == ["exit" if rank == gone else "RankLost" for rank in range(3)]


@pytest.mark.parametrize("gone", [0, 1])
def test_a_process_that_ends_in_the_middle_of_a_sum_is_missed_by_the_other(gone: int) -> None:
    def part(end: network.NetworkCollective) -> None:
        end.barrier()
        if end.rank == gone:
            end._meet("allreduce_ of 100000 float32")  # and never the transfer
            os._exit(1)
        end.allreduce_(np.ones(100_000, "float32"))

    assert play(2, part) == ["exit" if rank == gone else "RankLost" for rank in range(2)]


def test_a_rank_that_gives_up_reports_why_to_the_others() -> None:
    def part(end: network.NetworkCollective) -> str | None:
        end.barrier()
        if end.rank == 1:
            return end.abort(b"labels out of range")
        end.allreduce_(np.ones(1000))
        return "a sum"

    assert play(3, part) == ["RankAborted: labels out of range", None, "RankAborted: labels out of range"]


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_process_that_ends_while_all_connect_is_missed_by_the_others(
    gone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Leaving(gloo._Addresses):
        def wait(self, keys: Any) -> None:
            if self._links.rank == gone:
                os._exit(1)
            super().wait(keys)

    monkeypatch.setattr(gloo, "_Addresses", Leaving)
    assert play(3, lambda end: end.barrier()) == ["exit" if rank == gone else "RankLost" for rank in range(3)]
