"""Ranks on two hosts, which are network namespaces: a link that is cut ends both, wherever they wait."""

import os

import numpy as np
import pytest

from engine.training.distributed import gloo, network
from tests.engine.training.distributed.test_collective import added, numbers
from tests.support import hosts

from .ranks import MISSING, play

pytestmark = pytest.mark.skipif(bool(MISSING or hosts.MISSING), reason=MISSING or hosts.MISSING)


def on_two_hosts(part: object, host: hosts.SecondHost, **options: object) -> list[object]:
    """Have rank 0 call `part` here and rank 1 there."""

    def prepare(rank: int) -> None:
        if rank:
            host.enter()

    return play(2, part, host.here, prepare, **options)  # type: ignore[arg-type]


def test_a_sum_between_two_hosts_has_the_bits_of_one_in_the_order_of_the_ranks() -> None:
    def part(end: network.NetworkCollective) -> bytes:
        buffer = numbers("float32", 1_500_000, end.rank)
        end.allreduce_(buffer)
        end.barrier()
        return buffer.tobytes()

    with hosts.second_host() as host:
        expected = added([numbers("float32", 1_500_000, rank) for rank in range(2)])
        assert on_two_hosts(part, host) == [expected, expected]


@pytest.mark.parametrize("place", ["message", "transfer"])
def test_a_cut_link_is_noticed_by_both_wherever_they_wait(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gloo, "TRANSFER_SECONDS", 2)
    come, cut = os.pipe(), os.pipe()

    def part(end: network.NetworkCollective) -> str:
        end.allreduce_(np.ones(100_000, "float32"))
        if place == "transfer":
            end.barrier()  # all that comes before a transfer
        if end.rank:
            os.write(come[1], b"x")
            os.read(cut[0], 1)
        if place == "message":
            end.barrier()
        else:
            end._sum(np.ones(100_000, "float32"))
        return "it has arrived"

    with hosts.second_host() as host:

        def meanwhile() -> None:
            os.read(come[0], 1)
            host.cut()
            os.write(cut[1], b"x")

        assert on_two_hosts(part, host, meanwhile=meanwhile) == ["RankLost", "RankLost"]
    for pipe in (come, cut):
        for descriptor in pipe:
            os.close(descriptor)
