"""`adjoint system`: how a server is doing."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect
from app.cli.output import JsonOption, print_json, print_lines, terminal_width
from app.cli.terminal.table import Column, table_lines
from app.cli.terminal.values import NONE, size

WORKERS = (
    Column("PID", lambda row: str(row["pid"]), right=True),
    Column("STATE", lambda row: row["state"]),
    Column("WORKS ON", lambda row: row["fit"] or row["session"] or NONE),
    Column("MEMORY", lambda row: size(row["rss_bytes"]), right=True),
)


def system(as_json: JsonOption = False, url: UrlOption = DEFAULT_URL, key_file: KeyFileOption = None) -> None:
    """Show version, queue, worker processes, cores and storage of the server."""
    with connect(url, key_file) as client:
        overview = client.system()
    if as_json:
        print_json(overview)
        return
    print_lines(f"{name + ':':<10} {text}" for name, text in _facts(overview, url))
    if overview["workers"]:
        print_lines(["", *table_lines(WORKERS, overview["workers"], terminal_width())])


def _facts(overview: Mapping[str, Any], url: str) -> Iterator[tuple[str, str]]:
    limits, cores = overview["limits"], overview["cores"]
    quota = limits["storage_quota_bytes"]
    yield "server", f"{url}, version {overview['version']}"
    yield "software", f"Python {overview['python']}, NumPy {overview['numpy']}, {overview['blas']['library']}"
    yield "executors", ", ".join(overview["executors"])
    yield "cores", f"{cores['usable']} usable, {cores['threads_per_fit']} threads per fit"
    yield "fits", f"{overview['queue']['running']} running, {overview['queue']['queued']} queued"
    yield "workers", f"{len(overview['workers'])} processes, at most {limits['workers']} for fits"
    of_quota = "" if quota is None else f" of {size(quota)}"
    yield "storage", f"{size(overview['stored_bytes'])}{of_quota} stored, {size(overview['data_dir_free_bytes'])} free"
    if overview["quarantine_bytes"]:
        yield "quarantine", size(overview["quarantine_bytes"])
