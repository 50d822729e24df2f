"""`python -m tests.engine.random_graphs`: run random programs of a seed until one breaks the law, and print it shrunk.

Usage:
    python -m tests.engine.random_graphs [--of graphs|layers|fits] [--seed S] [--first N] [--count N] [--seconds T]
        [--all] [--whole]

Program N of seed S is the same on every machine. With `--all` it goes on behind what it has found; with `--whole` it
does not shrink. The exit status is 1 if something was found.
"""

import argparse
import gc
import os
import sys
import time
import warnings

from tests.engine.random_graphs.campaign import KINDS, failing, report


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.random_graphs")
    parser.add_argument("--of", choices=sorted(KINDS), default="graphs")
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("ADJOINT_VERIFY_PLANS", "1")
    kind, found, start = KINDS[given.of], 0, time.monotonic()
    for number in range(given.first, given.first + given.count):
        failure = failing(kind, given.seed, number)
        if failure is not None:
            found += 1
            sys.stdout.write(report(kind, given.seed, number, failure, shrunk=not given.whole) + "\n")
            sys.stdout.flush()
        if number % 20 == 0:
            gc.collect()  # values and the nodes that made them refer to one another
        if (number + 1) % 250 == 0:
            sys.stderr.write(f"{number + 1}: {found} wrong, {time.monotonic() - start:.0f} s\n")
        if (failure is not None and not given.all) or time.monotonic() - start > given.seconds:
            break
    seconds, work = time.monotonic() - start, time.process_time()
    count = number + 1 - given.first
    sys.stdout.write(
        f"--of {given.of} --seed {given.seed}: {count} run, {found} wrong, {seconds:.0f} s ({work:.0f} s of work)\n"
    )
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
