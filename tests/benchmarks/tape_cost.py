"""What one op costs on the tape, forward and backward, on 8x8 float32, beside PyTorch eager in the same run.

Run by `make bench`, or with the interpreter of an environment that has torch: `tape_cost.py --peer PYTHON`. Both
libraries stay up and are asked in turn, so that what slows the machine slows both; the figures are medians of ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from tape_worker import CHAIN, OPS

HERE = Path(__file__).parent


class Side:
    """A worker process."""

    def __init__(self, python: str, library: str) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
        environment["OPENBLAS_NUM_THREADS"] = "1"
        self.process = subprocess.Popen(
            [python, str(HERE / "tape_worker.py"), library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{python} cannot run the {library} side; see above")

    def ask(self, name: str, chain: int, repeats: int) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, chain, repeats, file=self.process.stdin, flush=True)
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
    ours, theirs = Side(sys.executable, "adjoint"), Side(arguments.peer, "torch")
    print(f"{'op':12}{'ops':>5}{'adjoint us':>12}{'torch us':>12}{'ratio':>8}   quartiles")
    for name in OPS:
        for chain in (1, CHAIN):
            pairs = [
                (ours.ask(name, chain, 400 // chain), theirs.ask(name, chain, 400 // chain))
                for _ in range(arguments.rounds)
            ]
            ratios = [mine / peers for mine, peers in pairs]
            low, middle, high = statistics.quantiles(ratios, n=4)
            mine, peers = (statistics.median(pair[side] for pair in pairs) * 1e6 for side in (0, 1))
            print(f"{name:12}{chain:5}{mine:12.1f}{peers:12.1f}{middle:8.2f}   {low:.2f} to {high:.2f}")
    ours.close()
    theirs.close()


if __name__ == "__main__":
    main()
