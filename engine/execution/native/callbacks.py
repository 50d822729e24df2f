"""Steps without a kernel in tables of kernel calls: C functions that call Python, with the interpreter's lock held."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from engine.core.value import Array
from engine.execution.native.call_interpreter import FAILURE

PythonCall = Callable[[], object]


class PythonCalls:
    """Python functions that threads running tables call by number.

    Such a thread holds no lock of Python's; the callback takes it and gives it back. An exception cannot pass through
    compiled code: the first one is kept for `raise_failure`, and what remains of the table is skipped.
    """

    def __init__(self, halt: Array) -> None:
        """Take the words, int64, the first of which halts tables and another of which says that a function raised."""
        calls: list[PythonCall] = []
        failures: list[BaseException] = []

        def run(number: int) -> None:
            try:
                with np.errstate(all="ignore"):
                    calls[-1 - number]()
            except BaseException as error:  # noqa: BLE001 - raised again when the table has been left
                failures.append(error)
                halt[FAILURE // halt.itemsize] = 1

        self._calls, self._failures = calls, failures
        self._callback = ctypes.CFUNCTYPE(None, ctypes.c_int64)(run)
        self._address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def added(self, call: PythonCall) -> tuple[int, int]:
        """Return the pair of words by which a table calls a function: the callback, and -1 - the function's number."""
        self._calls.append(call)
        return self._address, -len(self._calls)

    def raise_failure(self) -> None:
        """Raise what a function has raised since the last call, the first if there are several."""
        if self._failures:
            first = self._failures[0]
            self._failures.clear()
            raise first
