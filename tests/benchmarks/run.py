"""Measures training steps of this project and of its peers, interleaved.

`python -m tests.benchmarks.run --peers PYTHON [WORKLOAD ...]` prints a block a workload, and writes a file of results,
in which workloads measured before keep their rows. A row is written when it is done.

A row takes as long as its slowest contender compiles, since all of them compile at the same time, each on one core, and
then that many rounds of every contender in turn; torch.compile and JAX keep what they have compiled in a folder for the
next time. The first run takes most of its time to compile.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.floor import Peaks, floor_ms
from tests.benchmarks.measure import ROOT, compare, environment
from tests.benchmarks.readme import RESULTS
from tests.benchmarks.results_file import Results, merged, read_results, row, write_results
from tests.benchmarks.roster import ROSTER
from tests.benchmarks.starts import parameter_count, write_weights
from tests.benchmarks.table import DEFAULT, overall, terminal_block
from tests.benchmarks.workloads import STANDARD, WORKLOADS, Workload

QUICK_ROUNDS, QUICK_SECONDS = 3, 0.3


def main() -> None:
    """Measure what the command line asks for."""
    arguments = _arguments()
    cores = [None, "Haswell"] if arguments.core_type == "both" else [arguments.core_type or None]
    load = os.getloadavg()[0]
    measured = _peaks(arguments)
    peaks = Peaks.from_json(*measured)
    results: Results = {
        "machine": measured[0]["machine"],
        "load": round(load, 1),
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "peaks": {"products": peaks.products, "streams": peaks.streams},
        "tables": {},
    }
    print(f"{results['machine']}\nproducts {_rates(peaks.products)}; streams {_rates(peaks.streams)}\n", flush=True)
    for core in cores:
        names = arguments.workloads or (STANDARD if core or arguments.quick else tuple(WORKLOADS))
        table = results["tables"][core or DEFAULT] = {}
        for name in names:
            table[name] = _measured(WORKLOADS[name], peaks, core, arguments)
            print(terminal_block(table[name]), flush=True)
            write_results(arguments.results, merged(read_results(arguments.results), results))
        print(overall(table.values()), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"by default all: {', '.join(WORKLOADS)}")
    parser.add_argument("--peers", default=sys.executable, help="a Python that has the libraries to compare with")
    parser.add_argument("--contenders", help=f"names, joined by commas; by default all: {', '.join(ROSTER)}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.6, help="of one round of one contender")
    parser.add_argument("--quick", action="store_true", help="the standard workloads, in a few short rounds")
    parser.add_argument(
        "--core-type", default="both", help='for OpenBLAS; empty: none; by default first none, then "Haswell"'
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.workloads if name not in WORKLOADS]
    unknown += [name for name in (arguments.contenders or "").split(",") if name and name not in ROSTER]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}")
    if arguments.quick:
        arguments.rounds, arguments.seconds = QUICK_ROUNDS, QUICK_SECONDS
        arguments.core_type = "" if arguments.core_type == "both" else arguments.core_type
    return arguments


def _measured(workload: Workload, peaks: Peaks, core_type: str | None, arguments: argparse.Namespace) -> Results:
    """Return a row of the table."""
    chosen = arguments.contenders.split(",") if arguments.contenders else ROSTER
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights.npz"
        write_weights(workload, weights)
        rest = [workload.name, "--weights", str(weights), "--threads", str(arguments.threads)]
        commands = {ROSTER[name]: [*ROSTER[name].command(sys.executable, arguments.peers), *rest] for name in chosen}
        shared = environment(arguments.threads, core_type) | _compiled_folders(Path(arguments.peers))
        outcomes = compare(commands, shared, rounds=arguments.rounds, seconds=arguments.seconds)
    return row(workload, floor_ms(workload, parameter_count(workload), peaks), outcomes)


def _compiled_folders(peers: Path) -> dict[str, str]:
    """Return where torch.compile and JAX keep what they have compiled: beside the Python that runs them."""
    folder = peers.absolute().parents[1] / "compiled"
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
        "JAX_COMPILATION_CACHE_DIR": str(folder / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1",
    }


def _peaks(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure what the machine can do, by NumPy and, if the peers have it, by PyTorch."""
    command = ["-m", "tests.benchmarks.peaks", "--threads", str(arguments.threads)]
    ours = _answer([sys.executable, *command], arguments.threads)
    assert ours is not None, "it needs NumPy alone"
    theirs = _answer([arguments.peers, *command, "--torch"], arguments.threads)
    return [ours] if theirs is None else [ours, theirs]


def _answer(command: Sequence[str], threads: int) -> dict[str, Any] | None:
    done = subprocess.run(
        command, cwd=ROOT, env=environment(threads, None), capture_output=True, text=True, check=False
    )
    return None if done.returncode else json.loads(done.stdout)


def _rates(rates: Mapping[Any, float]) -> str:
    return ", ".join(f"{key}: {rate / 1e9:.1f} G/s" for key, rate in rates.items())


if __name__ == "__main__":
    main()
