"""What one op costs on the tape, forward and backward, on 8x8 float32, beside PyTorch eager and NumPy by hand.

Run by `make bench`, or with the interpreter of an environment that has torch: `tape_cost.py --peer PYTHON`. All sides
stay up and are asked in turn, so that what slows the machine slows all of them; the figures are medians of CPU times
and of ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from tape_worker import CHAIN, OPS, OPS_IN

HERE = Path(__file__).parent


class Side:
    """A worker process."""

    def __init__(self, python: str, library: str) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
        environment["OPENBLAS_NUM_THREADS"] = "1"
        self.process = subprocess.Popen(
            # Without this folder in its path, where a module has the name of Python's own `http`.
            [python, "-P", str(HERE / "tape_worker.py"), library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{python} cannot run the {library} side; see above")

    def ask(self, name: str, links: int, repeats: int) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, links, repeats, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, help="a Python interpreter with torch installed")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    sides = [Side(sys.executable, "adjoint"), Side(arguments.peer, "torch"), Side(sys.executable, "numpy")]
    print("| us of CPU per op | ops | Adjoint | torch eager | NumPy by hand | to torch | to NumPy |")
    print("|---|---|---|---|---|---|---|")
    for name in OPS:
        for links in (1, CHAIN):
            rounds = [[side.ask(name, links, 400 // links) for side in sides] for _ in range(arguments.rounds)]
            ours, theirs, by_hand = (statistics.median(column) * 1e6 for column in zip(*rounds, strict=True))
            to_torch, to_numpy = (statistics.median(row[0] / row[peer] for row in rounds) for peer in (1, 2))
            ops = links * OPS_IN.get(name, 1)
            print(f"| {name} | {ops} | {ours:.1f} | {theirs:.1f} | {by_hand:.1f} | {to_torch:.2f} | {to_numpy:.2f} |")
    for side in sides:
        side.close()


if __name__ == "__main__":
    main()
