"""What a process does once, so that those forked from it need not: each small fit would spend half its time on it."""

from pathlib import Path

import engine
from app.worker.warm_up import WarmUp


def load_kernels() -> None:
    """Load the compiler, and the machine code that common models need, as far as it is on disk."""
    if not engine.why_native_unusable():
        for _ in engine.load_kernels():
            pass


def warm_up() -> None:
    """Load the compiler, and do what a fork server does while it is idle."""
    if engine.why_native_unusable():
        return
    steps = WarmUp()
    with steps.reports, steps.reporting:
        steps.start()
        while not steps.is_idle:
            steps.take_step()
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a process that is to be forked must have one thread"
