"""Thread-local modes (recording, running, training, random keys), and budgets: what a trace may use."""

from __future__ import annotations

import contextvars
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.core.errors import LimitError
from engine.core.rng import KeySource
from engine.core.value import Value


class Modes(threading.local):
    """The modes of one thread.

    `kernels` is the context that kernels run in: there NumPy's floating warnings are off, because IEEE results (inf,
    NaN) are results. Running a function in it costs a tenth of `np.errstate`. `plain` is what `is_plain` returned at
    the last change.
    """

    def __init__(self) -> None:
        """Start as a new thread does: recording, eager, in training mode."""
        self.recording = True
        self.tracing = False
        self.budget: TraceBudget | None = None
        self.recorder: Callable[..., None] | None = None
        self.training = True
        self.inference = False
        self.anomaly = False
        self.tape = 0
        self.kernels = contextvars.Context()
        self.kernels.run(np.seterr, all="ignore")
        self.keys = KeySource()
        self.next_key: Callable[[], Value] | None = self.keys.next_key
        self.plain = True

    def is_plain(self) -> bool:
        """Return whether ops run at once, and nothing but the tape takes note of a call."""
        return not (self.tracing or self.inference or self.anomaly) and self.recorder is None


MODES = Modes()


def no_grad() -> AbstractContextManager[None]:
    """Record no operations inside: results require no gradient."""
    return _ModeChange(recording=False)


def enable_grad() -> AbstractContextManager[None]:
    """Record operations inside, even within `no_grad`; no effect in inference mode."""
    return _ModeChange(recording=not MODES.inference)


def differentiating() -> AbstractContextManager[None]:
    """Record operations inside, in inference mode too: what has to run in order to be differentiated."""
    return _ModeChange(recording=True, inference=False)


def set_grad_enabled(flag: bool) -> AbstractContextManager[None]:
    """Record operations from here on in this thread, or not; in a with statement, until its end."""
    before, MODES.recording = MODES.recording, flag and not MODES.inference
    return _recording_again(before)


@contextmanager
def _recording_again(flag: bool) -> Iterator[None]:
    try:
        yield
    finally:
        MODES.recording = flag


def is_grad_enabled() -> bool:
    """Return whether this thread records operations."""
    return MODES.recording


def inference_mode() -> AbstractContextManager[None]:
    """Record nothing inside, and make results that can never take part in a backward pass."""
    return _ModeChange(recording=False, inference=True)


def detect_anomaly() -> AbstractContextManager[None]:
    """Remember where every operation was recorded, and stop a backward pass at the first op that gives NaN."""
    return _ModeChange(anomaly=True)


def recording_on(tape: int) -> AbstractContextManager[None]:
    """Record operations inside on the tape of this number (see `engine.autograd.tape.tape`)."""
    return _ModeChange(recording=not MODES.inference, tape=tape)


def training_mode(flag: bool) -> AbstractContextManager[None]:
    """Run dropout and batch norm in training (True) or evaluation (False) mode inside."""
    return _ModeChange(training=flag)


def tracing(next_key: Callable[[], Value]) -> AbstractContextManager[None]:
    """Run no kernel inside: every operation only infers shapes and joins the graph; `next_key` feeds random ops."""
    return _ModeChange(tracing=True, recording=True, next_key=next_key, recorder=None)


def charging(budget: TraceBudget) -> AbstractContextManager[None]:
    """Charge what is traced inside to `budget`."""
    return _ModeChange(budget=budget)


def charge_table(op: str, *extents: int, item_bytes: int = 8) -> None:
    """Charge a table of these extents to the budget of this trace, if it has one, before the table is built.

    Raises:
        LimitError: the budget is exceeded.
    """
    if MODES.budget is not None:
        MODES.budget.charge_table(op, math.prod(extents) * item_bytes)


def recording_calls(recorder: Callable[..., None] | None) -> AbstractContextManager[None]:
    """Call `recorder` with every op called inside a trace: the op, its operands and attributes, and its results.

    Calls made by ops themselves are not recorded.
    """
    return _ModeChange(recorder=recorder)


_PLAIN_MODES = frozenset({"tracing", "inference", "anomaly", "recorder"})
"""The modes that `Modes.is_plain` reads."""


class _ModeChange(AbstractContextManager[None], ContextDecorator):
    """Change modes in a with statement, or while a function that it decorates runs."""

    def __init__(self, **changes: object) -> None:
        self.changes = changes

    def _recreate_cm(self) -> _ModeChange:
        return _ModeChange(**self.changes)

    def __enter__(self) -> None:
        modes = MODES.__dict__
        self.before = {name: modes[name] for name in (*self.changes, "plain")}
        modes.update(self.changes)
        if not _PLAIN_MODES.isdisjoint(self.changes):
            MODES.plain = MODES.is_plain()

    def __exit__(self, *_: object) -> None:
        MODES.__dict__.update(self.before)


STEP_OPERATIONS = 5_000
"""Cost of starting one step of a plan, in arithmetic operations."""


class TraceBudget:
    """What a trace may still use: operations, and bytes of the tables that ops build while they are traced.

    One node of a definition may become at most `node_operations` operations.
    """

    def __init__(self, operations: int, node_operations: int, table_bytes: int) -> None:
        """Start with the full budget."""
        self.operations = operations
        self.table_bytes = table_bytes
        self._per_node = self._left = node_operations

    def begin_node(self) -> None:
        """Reset the count of operations of one node."""
        self._left = self._per_node

    def charge_operation(self) -> None:
        """Charge one operation; LimitError if the budget is exceeded."""
        self.operations -= 1
        self._left -= 1
        if self.operations < 0 or self._left < 0:
            raise LimitError("the graph unrolls into more operations than are taken; use fewer repetitions")

    def charge_table(self, op: str, size_bytes: int) -> None:
        """Charge a table; LimitError if the budget is exceeded."""
        if size_bytes > self.table_bytes:
            raise LimitError(f"{op}: a table of {size_bytes} bytes is more than is left for such; use smaller extents")
        self.table_bytes -= size_bytes


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one computation, beside what is in memory already.

    Attributes:
        terms: bytes, by what they are for: "plan_bytes" are inputs, parameters, buffers and values between them,
            "initial_bytes" what drawing first values takes beside them, "output_bytes" copies of what is asked for.
        operations: estimated arithmetic operations of all runs of its plans.
    """

    terms: Mapping[str, int]
    operations: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all terms."""
        return sum(self.terms.values())


class Admit(Protocol):
    """Called with a cost before any of it is allocated; raises an error to refuse the computation."""

    def __call__(self, cost: Cost, /) -> object:
        """Accept a cost, or raise."""


def admit_any(_cost: Cost) -> None:
    """Accept every cost."""
