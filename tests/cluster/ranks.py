"""The ranks of a collective over gloo, each in a process of its own."""

import importlib.util
import os
import pickle
import socket
from collections.abc import Callable
from typing import Any

from engine.core.errors import CollectiveError, RankAborted
from engine.training.distributed import gloo, network

MISSING = "" if importlib.util.find_spec("xoscar") else "gloo is not installed: pip install 'adjoint-server[cluster]'"
SECRET = b"a secret of the test"

Part = Callable[[network.NetworkCollective], Any]


def play(
    size: int,
    part: Part,
    host: str = "127.0.0.1",
    prepare: Callable[[int], object] = lambda _rank: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> list[Any]:
    """Have a process for each rank call `part`, and return what it returned, or the name of what it raised.

    Rank 0 listens at `host`; each calls `prepare` first, and this process `meanwhile`.
    """
    listener = socket.create_server((host, 0))
    address = listener.getsockname()
    ends: list[socket.socket] = []
    for rank in range(size):
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            for other in (ours, *ends):
                other.close()
            try:
                prepare(rank)
                theirs.sendall(pickle.dumps(_outcome(rank, size, listener, address, part)))
            finally:
                os._exit(0)
        theirs.close()
        ends.append(ours)
    listener.close()
    meanwhile()
    results = []
    for end in ends:
        with end, end.makefile("rb") as read:
            said = read.read()
        results.append(pickle.loads(said) if said else "exit")
    for _ in ends:
        os.wait()
    return results


def _outcome(rank: int, size: int, listener: socket.socket, address: Any, part: Part) -> Any:
    if rank:
        listener.close()
    try:
        end = gloo.join_ranks(address, rank, size, SECRET) if rank else gloo.lead_ranks(listener, size, SECRET)
        assert end is not None
        return part(end)
    except RankAborted as error:
        return f"RankAborted: {error.reason.decode()}"
    except CollectiveError as error:
        return type(error).__name__
