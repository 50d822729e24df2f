"""Loops of a kernel whose iterations are shared: threads that would wait for the one that runs it take the next ones.

Cores are not equally fast, or not at all times: a product that is cut into one part for each thread takes as long as
the slowest of them. A loop has rounds, the iterations of which may run in any order; a round begins when the last one
has ended, so that results do not depend on the threads. All of them run the kernel, with blocks of their own.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core.cgutils import alloca_once_value, get_or_insert_function
from numba.extending import intrinsic

from engine.execution.native.inline.pointers import call, view
from engine.execution.native.inline.threads import SPINS, add, load, pause, store

LOOP, OWN = -1, -2
"""Words before those of a block: the address of the loop's memory, and whether it is the loop of this thread."""
KERNEL, STEP, COUNT, ROUNDS, NEXT, ENDED, KEPT = 0, 8, 16, 24, 64, 128, 192
"""Bytes from the start of a loop's memory to the address of the kernel, the bytes from the block of one thread to that
of the next, the number of iterations of a round and the number of rounds; on cache lines of their own the next
iteration, how many have ended, and what the kernel keeps for all threads."""
LINE = 64
"""Bytes of a cache line. The memory of a team has one for its barrier, then one for each thread, with the address of
the loop that it shares now and the number of threads that take part in it."""
FIRST_BLOCK = 4 * LINE + LINE
"""Bytes from the start of a loop's memory to the block of the first thread."""
ROUND = 1 << 32
"""By how much the next iteration is larger in the next round."""

_INT = ir.IntType(64)


@intrinsic
def begin_round(typing_context: Any, loop: Any, own: Any, number: Any) -> Any:
    """Let threads take the iterations of a round, if the loop is this thread's own."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loop, own, number = arguments
        with builder.if_then(builder.icmp_signed("!=", own, _number(0))):
            builder.store_atomic(_number(0), _word(builder, loop, ENDED), "seq_cst", 8)
            first = builder.mul(number, _number(ROUND))
            builder.store_atomic(first, _word(builder, loop, NEXT), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), generate


@intrinsic
def take_iteration(typing_context: Any, loop: Any) -> Any:
    """Return the next iteration, with the number of its round in the upper 32 bits; -1 if all have been taken."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (loop,) = arguments
        count, place, none = _read(builder, loop, COUNT), _word(builder, loop, NEXT), _number(-1)

        def is_one(taken: Any) -> Any:
            return builder.icmp_signed("<", builder.and_(taken, _number(ROUND - 1)), count)

        result = alloca_once_value(builder, none)
        with builder.if_then(is_one(_read(builder, loop, NEXT))):
            taken = builder.atomic_rmw("add", place, _number(1), "seq_cst")
            builder.store(builder.select(is_one(taken), taken, none), result)
        return builder.load(result)

    return types.int64(types.int64), generate


@intrinsic
def end_iteration(typing_context: Any, loop: Any) -> Any:
    """Say that an iteration has ended."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.atomic_rmw("add", _word(builder, arguments[0], ENDED), _number(1), "seq_cst")
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def end_round(typing_context: Any, loop: Any, own: Any) -> Any:
    """Wait until all iterations of the round have ended, if the loop is this thread's own."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loop, own = arguments
        spins = alloca_once_value(builder, _number(0))
        look, again, end = (builder.append_basic_block(name) for name in ("look", "again", "end"))
        builder.cbranch(builder.icmp_signed("!=", own, _number(0)), look, end)
        builder.position_at_end(look)
        left = builder.icmp_signed("<", _read(builder, loop, ENDED), _read(builder, loop, COUNT))
        builder.cbranch(left, again, end)
        builder.position_at_end(again)
        looked = builder.add(builder.load(spins), _number(1))
        builder.store(looked, spins)
        with builder.if_then(builder.icmp_signed(">", looked, _number(SPINS)), likely=False):
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(get_or_insert_function(builder.module, kind, "sched_yield"), [])
        builder.branch(look)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _number(value: int) -> Any:
    return ir.Constant(_INT, value)


def _word(builder: Any, loop: Any, offset: int) -> Any:
    return builder.inttoptr(builder.add(loop, _number(offset)), _INT.as_pointer())


def _read(builder: Any, loop: Any, offset: int) -> Any:
    return builder.load_atomic(_word(builder, loop, offset), "seq_cst", 8)


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
