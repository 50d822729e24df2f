"""How fast tables are taken, beside pandas and pyarrow: `python -m tests.benchmarks.ingest [--rows N]`.

Megabytes of the file for each second of CPU time. Readers take turns, and the median of their runs is shown: of this
service the whole process that reads an upload and stores its columns, of the others the call that reads the file into
memory, in a process of its own. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from app.ingest.ingest import ingest
from app.ingest.limits import IngestLimits, IngestOptions

PEERS = {
    ("pandas", "csv"): "import pandas; read = pandas.read_csv",
    ("pandas", "parquet"): "import pandas; read = pandas.read_parquet",
    ("pyarrow", "csv"): "import pyarrow.csv; read = pyarrow.csv.read_csv",
    ("pyarrow", "parquet"): "import pyarrow.parquet; read = pyarrow.parquet.read_table",
}
TIMED = "import sys, time; start = time.process_time(); read(sys.argv[1]); print(time.process_time() - start)"


def main() -> None:
    """Write the files, and print how fast each reader reads them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for path in write_files(Path(folder), arguments.rows):
            readers = {"adjoint": read_here} | {
                name: lambda path, code=code: read_by_peer(path, code)
                for (name, format), code in PEERS.items()
                if format == path.suffix[1:]
            }
            compare(path, readers, arguments.repeats)


def write_files(folder: Path, rows: int) -> list[Path]:
    """Write a table of 20 columns, as Parquet too, and CSV files of 300 and 2,000 columns with as many cells."""
    random = np.random.default_rng(0)
    table = make_table(random, rows, 1)
    parquet = folder / "table.parquet"
    pa.parquet.write_table(table, parquet)
    files = {"plain": (table, "none"), "quoted": (table, "all_valid")}
    files |= {f"columns{20 * copies}": (make_table(random, rows // copies, copies), "none") for copies in (15, 100)}
    for name, (content, quoting) in files.items():
        pa.csv.write_csv(content, folder / f"{name}.csv", pa.csv.WriteOptions(quoting_style=quoting))
    return [*(folder / f"{name}.csv" for name in files), parquet]


def make_table(random: np.random.Generator, rows: int, copies: int) -> pa.Table:
    """Return so many times 20 columns: floats of all digits, numbers of two decimals, whole numbers, texts."""
    columns: dict[str, pa.Array] = {}
    for copy in range(copies):
        columns |= {f"float{copy}_{place}": pa.array(random.normal(size=rows)) for place in range(8)}
        columns |= {f"price{copy}_{place}": pa.array(random.normal(0, 100, rows).round(2)) for place in range(4)}
        columns |= {f"count{copy}_{place}": pa.array(random.integers(0, 100 * 10**place, rows)) for place in range(5)}
        for kinds in (3, 50, 1000):
            codes = pa.array(random.integers(0, kinds, rows))
            columns[f"text{copy}_{kinds}"] = pa.array([f"kind {kind}" for kind in range(kinds)]).take(codes)
    return pa.table(columns)


def compare(path: Path, readers: dict[str, Callable[[Path], float | None]], repeats: int) -> None:
    """Print the speed of each reader on a file."""
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(repeats):
        for name, read in readers.items():
            taken = read(path)
            if taken is not None:
                seconds[name].append(taken)
    size = path.stat().st_size / 1e6
    print(f"{path.name} ({size:.0f} MB), MB for each second of CPU time")
    for name, times in seconds.items():
        print(f"  {name:10}" + (f"{size / statistics.median(times):8.0f}" if times else "   not installed"), flush=True)


def read_here(path: Path) -> float:
    """Return the CPU seconds of the process that reads an upload."""
    with tempfile.TemporaryDirectory() as target:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ingest(path, path.suffix[1:], Path(target), IngestOptions(), IngestLimits())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_by_peer(path: Path, code: str) -> float | None:
    """Return the CPU seconds of a call in a process of its own; None if it cannot be made."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{TIMED}", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return float(done.stdout) if done.returncode == 0 else None


if __name__ == "__main__":
    main()
