import socket
import threading

import pytest

from engine.core.errors import RankLost
from engine.training.distributed import network
from engine.training.distributed.control_links import ControlLinks, accept_ranks, connect_to_first
from tests.support.patience import PATIENCE

from .network import SECRET, listening, over_network
from .test_collective import Threads, added, numbers


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("whole_bytes", [0, 1 << 20], ids=["shares", "whole"])
def test_shares_and_pieces_come_to_the_sum_in_the_order_of_the_ranks(
    monkeypatch: pytest.MonkeyPatch, size: int, whole_bytes: int
) -> None:
    monkeypatch.setattr(network, "WHOLE_BYTES", whole_bytes)
    monkeypatch.setattr(network, "PIECE_BYTES", 256)

    def part(end: network.NetworkCollective) -> list[bytes]:
        sums = []
        for elements in (1, 3, 64, 65, 1000):
            buffer = numbers("float32", elements, end.rank)
            end.allreduce_(buffer)
            sums.append(buffer.tobytes())
        end.close()
        return sums

    expected = [added([numbers("float32", n, rank) for rank in range(size)]) for n in (1, 3, 64, 65, 1000)]
    assert Threads(over_network(size)).play(part) == [expected] * size


def test_who_does_not_send_the_secret_or_a_free_rank_is_disconnected() -> None:
    listener = listening()
    address = listener.getsockname()
    accepted: list[ControlLinks | None] = []
    thread = threading.Thread(target=lambda: accepted.append(accept_ranks(listener, 3, SECRET)), daemon=True)
    thread.start()
    first = connect_to_first(address, 1, 3, SECRET)
    others = [
        connect_to_first(address, 2, 3, b"another secret"),
        connect_to_first(address, 1, 3, SECRET),
        connect_to_first(address, 3, 3, SECRET),
    ]
    for other in others:
        with pytest.raises(RankLost):
            other.exchange("hello")
        other.close()
    with socket.create_connection(address) as silent:
        silent.sendall(b"x")
    second = connect_to_first(address, 2, 3, SECRET)
    thread.join(PATIENCE)
    (links,) = accepted
    assert links is not None
    ends = Threads([links, first, second])
    assert (
        ends.play(lambda end: end.exchange(f"at {end.rank}", b"x" * end.rank))
        == [[("at 0", b""), ("at 1", b"x"), ("at 2", b"xx")]] * 3
    )
    for end in ends.ends:
        end.close()


def test_a_rank_0_that_is_to_stop_waits_for_no_other() -> None:
    listener = listening()
    link = connect_to_first(listener.getsockname(), 1, 3, SECRET)
    looked: list[bool] = []

    def is_stopping() -> bool:
        looked.append(True)
        return len(looked) > 2

    assert accept_ranks(listener, 3, SECRET, is_stopping) is None
    with pytest.raises(RankLost):
        link.exchange("hello")
    link.close()


def test_nobody_listens_where_rank_0_has_gone() -> None:
    with listening() as listener:
        address = listener.getsockname()
    with pytest.raises(RankLost, match="rank 0"):
        connect_to_first(address, 1, 2, SECRET)
