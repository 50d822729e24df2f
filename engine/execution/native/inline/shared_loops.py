"""Loops of a kernel whose iterations are shared: threads that would wait for the one that runs it take the next ones.

Cores are not equally fast, or not at all times: a product that is cut into one part for each thread takes as long as
the slowest of them. A loop has rounds, the iterations of which may run in any order; a round begins when the last one
has ended, so that results do not depend on who computes them. All threads run the kernel, with blocks of their own.
"""

from __future__ import annotations

from typing import Any

import numba

from engine.execution.native.inline.pointers import call, view
from engine.execution.native.inline.threads import add, load, pause, store
from engine.execution.native.kernel import linked

LOOP, OWN = -1, -2
"""Words before those of a block: the address of the loop's memory, and whether it is the loop of this thread."""
KERNEL, STEP, COUNT, NEXT, ENDED, KEPT = 0, 8, 16, 64, 128, 192
"""Bytes from the start of a loop's memory to the address of the kernel, the bytes from the block of one thread to that
of the next, and the number of iterations of a round; on cache lines of their own the next iteration, how many have
ended, and what the kernel keeps for all threads."""
LINE = 64
"""Bytes of a cache line. The memory of a team has one for its barrier, then one for each thread, with the address of
the loop that it shares now and the number of threads that take part in it."""
FIRST_BLOCK = 4 * LINE + LINE
"""Bytes from the start of a loop's memory to the block of the first thread."""
ROUND = 1 << 32
"""By how much the next iteration is larger in the next round."""


@linked
def begin_round(loop: Any, number: Any) -> None:
    """Let threads take the iterations of a round."""
    store(loop + ENDED, 0)
    store(loop + NEXT, number * ROUND)


@linked
def take_iteration(loop: Any) -> Any:
    """Return the next iteration, with the number of its round in the upper 32 bits; -1 if all have been taken."""
    count = load(loop + COUNT)
    if load(loop + NEXT) % ROUND >= count:
        return -1
    taken = add(loop + NEXT, 1)
    return taken if taken % ROUND < count else -1


@linked
def end_iteration(loop: Any) -> None:
    """Say that an iteration has ended."""
    add(loop + ENDED, 1)


@linked
def end_round(loop: Any) -> None:
    """Wait until all iterations of the round have ended."""
    spins = 0
    while load(loop + ENDED) < load(loop + COUNT):
        spins += 1
        pause(spins)


@numba.njit
def share(kernel: Any, block: Any, team: Any, worker: Any) -> None:
    """Call a kernel with a shared loop, and return when no other thread is in it."""
    place = team + LINE * (1 + worker)
    store(place, view(block + 8 * LOOP, 1, numba.int64)[0])
    call(kernel, block)
    store(place, 0)
    spins = 0
    while load(place + 8) != 0:
        spins += 1
        pause(spins)


@numba.njit
def wait(team: Any, threads: Any, worker: Any) -> None:
    """Wait until all threads have come here, and help those that run a shared loop until then."""
    passed = load(team + 8)
    if add(team, 1) == threads - 1:
        store(team, 0)
        store(team + 8, passed + 1)
        return
    spins = 0
    while load(team + 8) == passed:
        for other in range(threads):
            place = team + LINE * (1 + other)
            if load(place) != 0:
                _help(place, worker)
        spins += 1
        pause(spins)


@numba.njit
def _help(place: Any, worker: Any) -> None:
    """Take iterations of the loop that another thread shares, if it still does."""
    add(place + 8, 1)
    loop = load(place)
    if loop != 0 and load(loop + NEXT) % ROUND < load(loop + COUNT):
        call(load(loop + KERNEL), loop + FIRST_BLOCK + worker * load(loop + STEP))
    add(place + 8, -1)
