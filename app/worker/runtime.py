"""What a worker runs with: its CPUs and its niceness, before ranks are forked; then its executor and its threads."""

import contextlib
import os
from dataclasses import replace

import engine
from app.domain.runtime import AUTO, NATIVE, NUMPY, Runtime

GONE = (
    "the fit was begun with the executor {executor!r}, which this server does not have (it has {known}), and its "
    "numbers would change with another: install it with pip install 'adjoint[fast]', or submit the fit again"
)


def settle(runtime: Runtime) -> None:
    """Bind this process to its CPUs and let it stand back; what the system does not permit is left out."""
    with contextlib.suppress(OSError):
        os.nice(runtime.niceness)
    if runtime.affinity is not None and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, runtime.affinity)


def chosen(runtime: Runtime) -> Runtime:
    """Choose the executor where that is left open, and let matrix products take the threads that they may.

    MissingExtra if the executor is not there: a fit never goes on with another one.
    """
    known = engine.executors()
    executor = runtime.executor
    if executor == AUTO:
        executor = NATIVE if NATIVE in known else NUMPY
    if executor not in known:
        raise engine.MissingExtra(GONE.format(executor=executor, known=", ".join(known)))
    # The native executor shares out a batch among threads of its own.
    engine.set_blas_threads(runtime.threads if executor == NUMPY else 1)
    return replace(runtime, executor=executor, fingerprint=engine.fingerprint(executor))
