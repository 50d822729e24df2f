"""Time of a sum between two replicas: over shared memory, over gloo on this machine, and over gloo between two hosts.

Run as `python -m tests.benchmarks.allreduce`. All three are measured in turn, in one run; a table goes to standard
output. The hosts are network namespaces that are joined by a veth pair, which needs root; without, they are left out.
"""

import os
import socket
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import engine
from tests.support import hosts

BYTES = (400_000, 4_000_000)
ROUNDS = 25
SUMS = 10
"""Sums in each round; the time of a round is divided by them."""

SECRET = b"a secret of the benchmark"


class Pair:
    """Two replicas: rank 0 is this process, rank 1 a process that does the same."""

    def __init__(self, join: Callable[[int], Any]) -> None:
        """Fork rank 1; each rank calls `join`."""
        self._pid = os.fork()
        if self._pid == 0:
            end = join(1)
            try:
                while True:
                    end.barrier()
                    self._sum(end, int(end.gather(b"")[0]))
            except engine.CollectiveError:
                os._exit(0)
        self._end = join(0)

    def measure(self, size: int) -> float:
        """Return the seconds of one sum of so many bytes."""
        self._end.barrier()
        self._end.gather(str(size).encode())
        return self._sum(self._end, size)

    @staticmethod
    def _sum(end: Any, size: int) -> float:
        buffer = np.full(size // 4, 1.0, "float32")
        began = time.perf_counter()
        for _ in range(SUMS):
            end.allreduce_(buffer)
            buffer *= 0.5
        return (time.perf_counter() - began) / SUMS

    def close(self) -> None:
        """End both."""
        self._end.close()
        os.waitpid(self._pid, 0)


def over_shared_memory() -> Pair:
    """Join two processes over shared memory."""
    rendezvous = engine.Rendezvous(2)
    return Pair(rendezvous.join)


def over_gloo(address: str, enter: Callable[[], object] = lambda: None) -> Pair:
    """Join two processes over gloo; rank 0 listens at `address`, rank 1 calls `enter` first."""
    listener = socket.create_server((address, 0))
    found = listener.getsockname()

    def join(rank: int) -> Any:
        if rank == 0:
            return engine.lead_ranks(listener, 2, SECRET)
        listener.close()
        enter()
        return engine.join_ranks(found, 1, 2, SECRET)

    return Pair(join)


def main() -> None:
    """Measure, and print the table."""
    pairs = {"shared memory": over_shared_memory(), "gloo, one machine": over_gloo("127.0.0.1")}
    host = None if hosts.MISSING else hosts.SecondHost()
    try:
        if host is not None:
            pairs["gloo, two hosts"] = over_gloo(host.here, host.enter)
        print("| bytes | " + " | ".join(pairs) + " |\n|---" + "|---" * len(pairs) + "|")
        for size in BYTES:
            for pair in pairs.values():
                pair.measure(size)
            times = [{name: pair.measure(size) for name, pair in pairs.items()} for _ in range(ROUNDS)]
            medians = [statistics.median(each[name] for each in times) for name in pairs]
            print(f"| {size} | " + " | ".join(f"{1e3 * median:.2f} ms" for median in medians) + " |")
        # Each process has copies of the pipes of those pairs that were made before it.
        for pair in reversed(pairs.values()):
            pair.close()
    finally:
        if host is not None:
            host.close()


if __name__ == "__main__":
    main()
