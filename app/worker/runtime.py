"""What a worker runs with: its CPUs and its niceness, before ranks are forked; then its executor and its threads."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace

import engine
from app.domain.messages import Log
from app.domain.runtime import AUTO, NATIVE, NUMPY, Runtime

GONE = (
    "the executor {executor!r}, which this was begun with or asks for, cannot be used here: {reason}. Numbers would "
    "change with another one: put that right, or submit it again with the executor 'numpy'"
)
FALLEN_BACK = "the NumPy executor is used, which is slower: {reason}"


def settle(runtime: Runtime) -> None:
    """Bind this process to its CPUs and let it stand back; what the system does not permit is left out."""
    with contextlib.suppress(OSError):
        os.nice(runtime.niceness)
    if runtime.affinity is not None and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, runtime.affinity)


def chosen(runtime: Runtime, collective: engine.Collective, tell: Callable[[Log], None] | None = None) -> Runtime:
    """Choose the executor where that is left open, and let matrix products take the threads that they may.

    The native executor is taken if all ranks can use it; `tell` hears why not although it is installed. MissingExtra if
    one that is not left open cannot be used: a fit never goes on with another one.
    """
    if runtime.executor == AUTO:
        reason = _why_not_native(collective)
        runtime = replace(runtime, executor=NUMPY if reason else NATIVE)
        if reason and tell is not None and NATIVE in engine.executors():
            tell(Log("warning", FALLEN_BACK.format(reason=reason), "native_unavailable"))
    elif missing := _why_unusable(runtime.executor):
        raise engine.MissingExtra(GONE.format(executor=runtime.executor, reason=missing))
    # The native executor shares out a batch among threads of its own.
    engine.set_blas_threads(runtime.threads if runtime.executor == NUMPY else 1)
    return replace(runtime, fingerprint=engine.fingerprint(runtime.executor))


def _why_not_native(collective: engine.Collective) -> str:
    """Return the reason of the first rank that cannot use the native executor, empty if all can."""
    reasons = collective.gather((engine.why_native_unusable() or "").encode())
    return next((reason.decode() for reason in reasons if reason), "")


def _why_unusable(executor: str) -> str | None:
    if executor == NATIVE:
        return engine.why_native_unusable()
    return None if executor == NUMPY else f"this server has {', '.join(engine.executors())}"
