"""Small real data sets and graphs that ship with the server, for first steps and for tests."""

from pathlib import Path

DATASETS = ("digits", "iris")


def dataset_path(name: str) -> Path:
    """Path of the CSV file (header row, UTF-8) of the demo data set `name`, one of `DATASETS`.

    Raises `LookupError` for any other name. Sources and licence: `LICENSE-DATA.md` beside the files.
    """
    return _path(name, "csv")


def graph_path(name: str) -> Path:
    """Path of the graph (JSON, in layers) that learns the demo data set `name`; `LookupError` as for its data."""
    return _path(name, "json")


def _path(name: str, ending: str) -> Path:
    if name not in DATASETS:
        msg = f"there is no demo data set {name!r}; choose one of {', '.join(DATASETS)}"
        raise LookupError(msg)
    return Path(__file__).with_name(f"{name}.{ending}")
