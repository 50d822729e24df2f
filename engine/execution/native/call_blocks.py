"""The blocks of words that kernels are called with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.core.value import Array
from engine.execution.native.inline.shared_loops import FIRST_BLOCK, LINE, LOOP, NEXT, OWN
from engine.execution.native.lowering import Call, Scratch, address_of, word
from engine.execution.plan.numpy_executor import aligned


def call_blocks(call: Call, scratch: Sequence[int], own: int = 0) -> tuple[list[Array], int]:
    """Return the blocks of a call, each as long as its arguments, and the word for it in a table of calls.

    Other threads take part in a call with a shared loop of several iterations. They have blocks of their own, behind
    the memory of the loop.

    Args:
        call: what to call.
        scratch: the address of the scratch memory of each thread that may take part.
        own: which of them runs the call.
    """
    words = np.array([each if each.__class__ is int else word(each, scratch[own]) for each in call.arguments], np.int64)
    if not call.iterations:
        return [words], address_of(words)
    step = LINE * (1 + -(-8 * len(call.arguments) // LINE))
    memory = aligned(FIRST_BLOCK + step * len(scratch)).view(np.int64)
    memory[:4] = call.kernel.address(call.dtype), step, call.iterations, call.rounds
    # Nothing is left to take until the thread that runs the call begins its first round.
    memory[NEXT // 8] = call.iterations
    own_scratch = [
        (i, each.offset) for i, each in enumerate(call.arguments) if isinstance(each, Scratch) and not each.common
    ]
    blocks, start = [], address_of(memory)
    for thread, address in enumerate(scratch):
        place = (FIRST_BLOCK + thread * step) // 8
        memory[place + LOOP], memory[place + OWN] = start, thread == own
        block = memory[place : place + len(words)]
        block[:] = words
        for index, offset in own_scratch:
            block[index] = address + offset
        blocks.append(block)
    return blocks, start + FIRST_BLOCK + own * step + (call.iterations > 1)
