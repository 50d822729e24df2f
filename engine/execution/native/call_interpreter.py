"""The machine: runs tables of kernel calls, alone or as one of several threads that keep step."""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
from numba import types

from engine.execution.native.code_folder import compile_kept
from engine.execution.native.inline.pointers import call, view
from engine.execution.native.inline.shared_loops import share, wait
from engine.execution.native.inline.subnormals import FLUSH, control_word, set_control_word
from engine.execution.native.inline.threads import load
from engine.execution.native.kernel import declare_symbols

BARRIER = 0
"""The address of a call that is none: here threads wait for one another."""
FAILURE = 8
"""Bytes from the word `halt` to the word that is not 0 after a Python function has raised."""


@cache
def call_interpreter() -> Any:
    """Return the compiled loop `run(table, length, times, halt, team, threads, worker)`; it needs no lock of Python's.

    `table` is the address of `length` pairs of words, a kernel and its block, plus 1 if it has a loop to share;
    it is executed `times` times, or until the word at `halt` is not 0. The loop returns how often it went through. This
    thread is number `worker` of `threads`, which share the memory at the address `team`.
    Subnormal numbers are zeros, except in callbacks to Python, whose second word is below 0. When one has failed the
    calls that remain, of every run, are skipped, but not the barriers: threads see the failure at different places.
    """
    declare_symbols()
    signature = types.int64(*[types.int64] * 7)
    return compile_kept(lambda kept: numba.njit(signature, nogil=True, cache=kept, error_model="numpy")(_run))


def _run(table: Any, length: Any, times: Any, halt: Any, team: Any, threads: Any, worker: Any) -> Any:
    pairs = view(table, 2 * length, numba.int64)
    before = control_word()
    set_control_word(numba.int32(before | FLUSH))
    done = 0
    while done < times and load(halt) == 0:
        done += 1
        for place in range(length):
            kernel, block = pairs[2 * place], pairs[2 * place + 1]
            if kernel == BARRIER:
                wait(team, threads, worker)
            elif load(halt + FAILURE) != 0:
                continue
            elif block < 0:
                set_control_word(before)
                call(kernel, block)
                set_control_word(numba.int32(before | FLUSH))
            elif block % 2 == 0:
                call(kernel, block)
            elif threads == 1:
                call(kernel, block - 1)
            else:
                share(kernel, block - 1, team, worker)
    if threads > 1:
        wait(team, threads, worker)  # no thread reads `halt` any more when the first one returns
    set_control_word(before)
    return done
