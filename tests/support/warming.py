"""What a process does once, so that those forked from it need not: each small fit would spend half its time on it."""

from pathlib import Path

import engine
from app.worker import warm_up


def load_kernels() -> None:
    """Load the compiler, and the machine code that common models need, as far as it is on disk."""
    if not engine.why_native_unusable():
        for _ in engine.load_kernels():
            pass


def train_once() -> None:
    """Train a small network, and prepare ops: what the engine derives from its declarations is derived then."""
    warm_up.train_once()
    for _ in engine.prepare_ops():
        pass
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a process that is to be forked must have one thread"
