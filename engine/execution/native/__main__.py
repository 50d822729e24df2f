"""`python -m engine.execution.native` compiles every kernel that is not on disk yet, at installation."""

from __future__ import annotations

import sys
import time

from engine.core.cores import usable_cores
from engine.execution.native import why_missing
from engine.execution.native.compilation import compile_all


def main() -> None:
    """Compile, or say why that cannot be done."""
    missing = why_missing()
    if missing:
        sys.stdout.write(f"{missing}; everything works without it, only slower\n")
        return
    begun = time.perf_counter()
    compile_all(usable_cores())
    sys.stdout.write(f"the kernels are compiled ({time.perf_counter() - begun:.0f} s)\n")


if __name__ == "__main__":
    main()
