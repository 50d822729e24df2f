"""Thread-local modes: whether operations are recorded, run, or in training, and where random keys come from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from engine.keys import KeySource
from engine.value import Value


class Modes(threading.local):
    """The modes of one thread."""

    def __init__(self) -> None:
        """Start as a new thread does: recording, eager, in training mode."""
        self.recording = True
        self.tracing = False
        self.training = True
        self.inference = False
        self.anomaly = False
        self.quiet = False
        self.keys = KeySource()
        self.next_key: Callable[[], Value] | None = self.keys.next_key


MODES = Modes()


@contextmanager
def no_grad() -> Iterator[None]:
    """Record no operations inside: results require no gradient."""
    with _set(recording=False):
        yield


@contextmanager
def enable_grad() -> Iterator[None]:
    """Record operations inside, whatever surrounds."""
    with _set(recording=True):
        yield


@contextmanager
def set_grad_enabled(flag: bool) -> Iterator[None]:
    """Record operations inside, or not."""
    with _set(recording=flag):
        yield


def is_grad_enabled() -> bool:
    """Tell whether this thread records operations."""
    return MODES.recording


@contextmanager
def inference_mode() -> Iterator[None]:
    """Record nothing inside, and make results that can never take part in a backward pass."""
    with _set(recording=False, inference=True):
        yield


@contextmanager
def detect_anomaly() -> Iterator[None]:
    """Remember where every operation was recorded, and stop a backward pass at the first op that gives NaN."""
    with _set(anomaly=True):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Switch NumPy's floating warnings off for many kernels at once, in place of once for each."""
    with np.errstate(all="ignore"), _set(quiet=True):
        yield


@contextmanager
def training_mode(flag: bool) -> Iterator[None]:
    """Run dropout and batch norm in training (True) or evaluation (False) mode inside."""
    with _set(training=flag):
        yield


@contextmanager
def tracing(next_key: Callable[[], Value]) -> Iterator[None]:
    """Run no kernel inside: every operation only infers shapes and joins the graph; `next_key` feeds random ops."""
    with _set(tracing=True, recording=True, next_key=next_key):
        yield


@contextmanager
def _set(**changes: object) -> Iterator[None]:
    before = {name: getattr(MODES, name) for name in changes}
    MODES.__dict__.update(changes)
    try:
        yield
    finally:
        MODES.__dict__.update(before)
