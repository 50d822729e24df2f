"""The fast executor: plans as tables of compiled kernels. It needs the extra `[fast]`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec

from engine.core.errors import MissingExtra, UnknownName, accepted_names
from engine.core.value import Array
from engine.execution.native.blas import numpy_blas
from engine.execution.native.codes import loaded_kernels
from engine.execution.native.compilation import load_kernels, report_compilation
from engine.execution.plan import NumpyExecutor, Plan

KNOWN_EXECUTORS = ("auto", "numpy", "native")

MOST_SHARDS = 8
"""Into how many shards a batch is cut at most."""


@cache
def why_missing() -> str | None:
    """Return why the native executor does not work here, or None."""
    if find_spec("numba") is None:
        return "the native executor needs numba: pip install 'adjoint-server[fast]'"
    try:
        numpy_blas()
    except MissingExtra as error:
        return str(error)
    return None


def why_unusable() -> str | None:
    """Load the native executor into this process; return why it cannot be used here, or None.

    What is installed may still not load: a library of another version, or a system that lets no process make memory
    executable (SELinux, systemd's MemoryDenyWriteExecute). A failure is not remembered, since it may pass.
    """
    if missing := why_missing():
        return missing
    try:
        from engine.execution.native import executor  # imports numba
        from engine.execution.native.call_interpreter import call_interpreter

        assert executor
        call_interpreter()
    except Exception as error:  # noqa: BLE001 - for every error of a compiler there are other executors
        return f"the native executor cannot be loaded: {type(error).__name__}: {error}"
    return None


def executors() -> tuple[str, ...]:
    """Return the names of the executors that are installed here; whether "native" can be used, `why_unusable` says."""
    return ("numpy",) if why_missing() else ("numpy", "native")


def chosen(executor: str) -> str:
    """Return the executor for a requested name: "auto" is the fastest one available here.

    Raises:
        UnknownName: there is none of this name.
        MissingExtra: it does not work here.
    """
    if executor == "auto":
        return "numpy" if why_unusable() else "native"
    if executor not in KNOWN_EXECUTORS:
        raise UnknownName(
            f"there is no executor called {str(executor)[:64]!r}{accepted_names(executor, KNOWN_EXECUTORS)}"
        )
    if executor == "native" and (reason := why_unusable()):
        raise MissingExtra(reason)
    return executor


def most_shards(executor: str) -> int:
    """Return into how many shards plans for an executor may cut a batch."""
    return MOST_SHARDS if executor == "native" else 1


def bind(plan: Plan, state: Mapping[str, Array], executor: str, threads: int | None = None) -> NumpyExecutor:
    """Bind a plan to memory for "numpy" or "native"; the latter runs shards on up to `threads` threads."""
    if executor == "numpy":
        return NumpyExecutor(plan, state)
    from engine.execution.native.executor import NativeExecutor  # imports numba

    return NativeExecutor(plan, state, threads)


__all__ = [
    "bind",
    "chosen",
    "executors",
    "load_kernels",
    "loaded_kernels",
    "most_shards",
    "report_compilation",
    "why_missing",
    "why_unusable",
]
