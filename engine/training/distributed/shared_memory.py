"""A collective of processes on one host, over shared memory and pipes."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from struct import Struct

import numpy as np

from engine.core.dtypes import DType
from engine.core.errors import AttributeValueError, CollectiveError, RankAborted, RankLost
from engine.training.distributed.collective import Array, refuse_disagreement, refuse_unsummable, sum_in_order

PIECE_BYTES = 1 << 20
"""Bytes of a buffer that are summed at once: small enough for the caches, large enough to make waiting cheap."""

SHARED_OUT_BYTES = 1 << 18
"""As long as it saves no more than so much adding, work is not shared out: each rank adds all of a piece itself, since
to wait for the others' shares would take longer."""

CALL = Struct("=16s16sqq")
"""The operation that a rank calls: operation, element type, elements; and the length of its message in a `gather`."""
SAME = CALL.size - 8
"""Number of its bytes that must be equal on all ranks."""

ABORT = b"abort"
_NOTE = b"\0"


@dataclass(frozen=True, slots=True)
class _Link:
    """The pipes between two ranks, from the side of one."""

    incoming: int
    outgoing: int

    def close(self) -> None:
        os.close(self.incoming)
        os.close(self.outgoing)


class Rendezvous:
    """The resources that the processes of a collective share; created by the process that forks them.

    Each process joins once, as its rank, which closes the pipes of the others; the parent joins or drops it after it
    has forked them all. As long as a process that has not joined holds it open, the loss of a rank is not noticed.
    """

    def __init__(self, ranks: int, piece_bytes: int = PIECE_BYTES) -> None:
        """Allocate memory for `ranks` processes; pages that are never used cost nothing.

        Larger buffers are summed in pieces of `piece_bytes`, a multiple of 8.

        Raises:
            AttributeValueError: no rank, or a size that is not a positive multiple of 8.
            OSError: the system has no memory for it.
        """
        if ranks < 1 or piece_bytes < 8 or piece_bytes % 8:
            raise AttributeValueError(
                f"a rendezvous needs ranks >= 1 and piece_bytes a positive multiple of 8, got {ranks} and {piece_bytes}"
            )
        self._board = _Board(ranks, piece_bytes)
        self._links: dict[int, tuple[_Link, _Link]] = {}
        for rank in range(1, ranks):
            (first_reads, rank_writes), (rank_reads, first_writes) = os.pipe(), os.pipe()
            self._links[rank] = _Link(first_reads, first_writes), _Link(rank_reads, rank_writes)

    def join(self, rank: int) -> SharedCollective:
        """Return the collective of rank `rank`."""
        mine: dict[int, _Link] = {}
        for other, (of_first, of_other) in self._links.items():
            if rank == 0:
                mine[other] = of_first
                of_other.close()
            else:
                of_first.close()
                if other == rank:
                    mine[0] = of_other
                else:
                    of_other.close()
        self._links = {}
        return SharedCollective(rank, self._board, mine)


class SharedCollective:
    """One process's end of a `Collective`; `Rendezvous.join` returns it.

    Rank 0 waits for a notification of every other rank, then sends one to each. There are two sets of slots, used in
    turn: a rank that fills a slot again has been at a later barrier, and so has every rank that was still reading the
        slot.
    """

    def __init__(self, rank: int, board: _Board, links: Mapping[int, _Link]) -> None:
        """Communicate over `board`; `links` lead to rank 0, or from there to every other rank."""
        self._rank = rank
        self._board = board
        self._links = links
        self._turn = 0
        self._closed = False

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return self._board.ranks

    def allreduce_(self, buffer: Array) -> None:
        refuse_unsummable(buffer)
        step = self._board.piece_bytes // buffer.itemsize
        for start in range(0, max(1, buffer.size), step):
            self._sum(buffer[start : start + step], buffer.size)

    def gather(self, payload: bytes) -> list[bytes]:
        payloads = [bytearray() for _ in range(self.size)]
        done = 0
        while True:
            self._board.write(self._turn, self._rank, payload[done : done + self._board.piece_bytes])
            turn = self._meet(b"gather", length=len(payload))
            lengths = [self._board.length(turn, rank) for rank in range(self.size)]
            for rank, length in enumerate(lengths):
                payloads[rank] += self._board.read(turn, rank, length - done)
            done += self._board.piece_bytes
            if done >= max(lengths):
                return [bytes(whole) for whole in payloads]

    def barrier(self) -> None:
        self._meet(b"barrier")

    def abort(self, reason: bytes) -> None:
        reason = reason[: self._board.piece_bytes]
        with suppress(CollectiveError):
            self._board.write(self._turn, self._rank, reason)
            self._meet(ABORT, length=len(reason))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            for link in self._links.values():
                link.close()

    def _sum(self, piece: Array, elements: int) -> None:
        """Sum this rank's share of the piece for all, and read the shares of the others."""
        slots = self._board.slots(self._turn, piece.dtype)[:, : piece.size]
        slots[self._rank] = piece
        self._meet(b"allreduce_", _name(piece.dtype), elements)
        if piece.nbytes * (self.size - 2) <= SHARED_OUT_BYTES:
            sum_in_order(slots, out=piece)
            return
        share = slice(piece.size * self._rank // self.size, piece.size * (self._rank + 1) // self.size)
        sum_in_order(slots[:, share], out=slots[0, share])
        self._wait()
        piece[:] = slots[0]

    def _meet(self, operation: bytes, dtype: bytes = b"", elements: int = 0, length: int = 0) -> int:
        """Wait for all ranks, check that they call the same operation, and return the turn of the slots."""
        turn = self._turn
        self._turn = 1 - turn
        self._board.announce(turn, self._rank, CALL.pack(operation, dtype, elements, length))
        self._wait()
        self._board.refuse_disagreement(turn)
        return turn

    def _wait(self) -> None:
        if self._closed:
            raise RankLost(self._rank)
        if self._rank == 0:
            for rank, link in self._links.items():
                _hear(rank, link)
            for rank, link in self._links.items():
                _tell(rank, link)
        else:
            _tell(0, self._links[0])
            _hear(0, self._links[0])


class _Board:
    """The shared memory: for each of two turns, the operation that every rank calls, and its slot."""

    def __init__(self, ranks: int, piece_bytes: int) -> None:
        self.ranks = ranks
        self.piece_bytes = piece_bytes
        self._calls = -(-2 * ranks * CALL.size // mmap.PAGESIZE) * mmap.PAGESIZE
        self._memory = mmap.mmap(-1, self._calls + 2 * ranks * piece_bytes)
        self._slots = np.frombuffer(self._memory, np.uint8, offset=self._calls).reshape(2, ranks, piece_bytes)

    def slots(self, turn: int, dtype: DType) -> Array:
        slots: Array = self._slots[turn].view(dtype)
        return slots

    def announce(self, turn: int, rank: int, call: bytes) -> None:
        """Write the operation that `rank` calls."""
        start = self._call(turn, rank)
        self._memory[start : start + CALL.size] = call

    def length(self, turn: int, rank: int) -> int:
        """Return the length of the message of `rank`, in bytes."""
        length: int = CALL.unpack_from(self._memory, self._call(turn, rank))[3]
        return length

    def write(self, turn: int, rank: int, content: bytes) -> None:
        """Write `content`, at most a piece, into the slot of `rank`."""
        start = self._slot(turn, rank)
        self._memory[start : start + len(content)] = content

    def read(self, turn: int, rank: int, length: int) -> bytes:
        """Return the content of the slot of `rank`, at most `length` bytes."""
        start = self._slot(turn, rank)
        return self._memory[start : start + max(0, min(length, self.piece_bytes))]

    def refuse_disagreement(self, turn: int) -> None:
        """Raise CollectiveError if a rank aborted or calls another operation."""
        starts = [self._call(turn, rank) for rank in range(self.ranks)]
        calls = [self._memory[start : start + SAME] for start in starts]
        if calls.count(calls[0]) == self.ranks and not calls[0].startswith(ABORT):
            return
        for rank, call in enumerate(calls):
            if call.startswith(ABORT):
                raise RankAborted(rank, self.read(turn, rank, self.length(turn, rank)))
        refuse_disagreement([_described(self._memory, start) for start in starts])

    def _call(self, turn: int, rank: int) -> int:
        return (turn * self.ranks + rank) * CALL.size

    def _slot(self, turn: int, rank: int) -> int:
        return self._calls + (turn * self.ranks + rank) * self.piece_bytes


def _described(memory: mmap.mmap, start: int) -> str:
    operation, dtype, elements, _ = CALL.unpack_from(memory, start)
    name, kind = (text.rstrip(b"\0").decode() for text in (operation, dtype))
    return f"{name} of {elements} {kind}" if kind else name


@cache
def _name(dtype: DType) -> bytes:
    # NumPy takes longer over this than over adding a thousand numbers.
    return dtype.name.encode()


def _hear(rank: int, link: _Link) -> None:
    if not os.read(link.incoming, 1):
        raise RankLost(rank)


def _tell(rank: int, link: _Link) -> None:
    try:
        os.write(link.outgoing, _NOTE)
    except BrokenPipeError:
        raise RankLost(rank) from None
