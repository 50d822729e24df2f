"""A collective of processes on several hosts: control links for what they say, point-to-point transfers for sums."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from typing import Protocol

import numpy as np

from engine.core.errors import CollectiveError, RankAborted
from engine.training.distributed.collective import Array, refuse_disagreement, refuse_unsummable, sum_in_order
from engine.training.distributed.control_links import ControlLinks

PIECE_BYTES = 1 << 22
"""Bytes of a buffer that are transferred and summed at once, which bounds the memory and the time of a transfer."""

WHOLE_BYTES = 1 << 16
"""A piece up to this size is sent whole to every rank: that takes one transfer in place of two."""

ABORT = "abort"


class Transfer(Protocol):
    """Sends the bytes of contiguous arrays from rank to rank. Sending and receiving may be done in two threads."""

    def send(self, part: Array, to: int) -> None:
        """Return when rank `to` receives it; RankLost if that rank is gone."""
        ...

    def receive(self, part: Array, source: int) -> None:
        """Overwrite `part` by what rank `source` sends, which has its size; RankLost if that rank is gone."""
        ...

    def close(self) -> None:
        """End transfers that wait."""
        ...


class NetworkCollective:
    """One process's end of a `Collective`.

    Before each sum all ranks exchange its size over the links, and wait there for the slowest of them: a transfer takes
    only as long as its bytes do. A piece is summed by a reduce-scatter and an allgather: each rank receives its share
    of the piece from all others, adds the shares in the order of the ranks, and sends the sum to all. A rank sends
    and receives 2 (size - 1) / size times the bytes of the buffer, which is as much as in a ring.
    """

    def __init__(self, links: ControlLinks, transfer: Transfer) -> None:
        """Communicate over `links` and `transfer`, which are closed with this."""
        self._links = links
        self._transfer = transfer
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="send")

    @property
    def rank(self) -> int:
        return self._links.rank

    @property
    def size(self) -> int:
        return self._links.size

    def allreduce_(self, buffer: Array) -> None:
        refuse_unsummable(buffer)
        self._meet(f"allreduce_ of {buffer.size} {buffer.dtype}")
        if self.size == 1:
            return
        whole = np.ascontiguousarray(buffer)
        step = PIECE_BYTES // whole.itemsize
        for start in range(0, whole.size, step):
            self._sum(whole[start : start + step])
        if whole is not buffer:
            buffer[:] = whole

    def gather(self, payload: bytes) -> list[bytes]:
        return self._meet("gather", payload)

    def barrier(self) -> None:
        self._meet("barrier")

    def abort(self, reason: bytes) -> None:
        with suppress(CollectiveError):
            self._links.exchange(ABORT, reason)

    def close(self) -> None:
        self._links.close()
        self._transfer.close()
        self._sender.shutdown(wait=False)

    def _meet(self, operation: str, payload: bytes = b"") -> list[bytes]:
        """Wait for all ranks, check that they call the same operation, and return their payloads."""
        calls = self._links.exchange(operation, payload)
        for rank, (name, reason) in enumerate(calls):
            if name == ABORT:
                raise RankAborted(rank, reason)
        refuse_disagreement([name for name, _ in calls])
        return [each for _, each in calls]

    def _sum(self, piece: Array) -> None:
        if self.size == 2 or piece.nbytes <= WHOLE_BYTES:
            self._sum_share([piece] * self.size, piece)
            return
        bounds = [piece.size * rank // self.size for rank in range(self.size + 1)]
        shares = [piece[start:end] for start, end in pairwise(bounds)]
        own = shares[self.rank]
        self._sum_share(shares, own)
        self._exchange([own] * self.size, shares)

    def _sum_share(self, outgoing: Sequence[Array], share: Array) -> None:
        """Send `outgoing`, one for each rank, and add what is received to `share` in the order of the ranks."""
        received = np.empty((self.size, share.size), share.dtype)
        received[self.rank] = share
        self._exchange(outgoing, received)
        sum_in_order(received, out=share)

    def _exchange(self, outgoing: Sequence[Array], incoming: Sequence[Array] | Array) -> None:
        """Send an array to each other rank, and receive one of each, in the same rounds on all ranks."""
        sent = self._sender.submit(self._send_all, outgoing)
        for turn in range(1, self.size):
            source = (self.rank - turn) % self.size
            if incoming[source].size:
                self._transfer.receive(incoming[source], source)
        sent.result()

    def _send_all(self, outgoing: Sequence[Array]) -> None:
        for turn in range(1, self.size):
            to = (self.rank + turn) % self.size
            if outgoing[to].size:
                self._transfer.send(outgoing[to], to)
