"""`python -m engine.execution.native` compiles kernels that are not on disk yet, at installation."""

from __future__ import annotations

import argparse
import sys
import time

from engine.execution.native import why_missing
from engine.execution.native.compilation import compile_kernels

SECONDS_PER_LINE = 5.0
"""Between two lines of progress where output is not a terminal."""


def main() -> None:
    """Compile, or say why that cannot be done."""
    options = _options()
    missing = why_missing()
    if missing:
        sys.stdout.write(f"{missing}; everything works without it, only slower\n")
        return
    begun = time.perf_counter()
    compile_kernels(common_only=options.common, progress=_Line().show)
    sys.stdout.write(f"the kernels are compiled ({time.perf_counter() - begun:.0f} s)\n")
    if options.shared:
        _share()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m engine.execution.native", description=__doc__)
    parser.add_argument("--common", action="store_true", help="only those of common models")
    parser.add_argument("--shared", action="store_true", help="copy them beside the sources, for all users")
    return parser.parse_args()


def _share() -> None:
    from engine.execution.native.code_folder import share_code  # imports numba

    if share_code() is None:
        sys.exit("the kernels cannot be copied beside the sources: this user may not write there")


class _Line:
    """The line that shows how many kernels are compiled."""

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, count: int, total: int) -> None:
        """Print progress: over the last line in a terminal, else a line now and then."""
        if not total:
            return
        if sys.stdout.isatty():
            sys.stdout.write(f"\rcompiling kernels: {count} of {total}" + "\n" * (count == total))
        elif time.perf_counter() >= self._next:
            self._next = time.perf_counter() + SECONDS_PER_LINE
            sys.stdout.write(f"compiling kernels: {count} of {total}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
