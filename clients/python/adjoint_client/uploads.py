"""Which files the server takes, and as what."""

from pathlib import Path

CONTENT_TYPES = {
    ".arrow": "application/vnd.apache.arrow.file",
    ".arrows": "application/vnd.apache.arrow.stream",
    ".csv": "text/csv",
    ".feather": "application/vnd.apache.arrow.file",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
    ".npy": "application/x-npy",
    ".npz": "application/x-npz",
    ".parquet": "application/vnd.apache.parquet",
    ".safetensors": "application/vnd.safetensors",
    ".zip": "application/zip",
}

WORKBOOKS = (".xls", ".xlsm", ".xlsx", ".ods")

COMPRESSED = (".gz", ".zst")

SAFETENSORS = CONTENT_TYPES[".safetensors"]


def content_type(path: Path) -> str:
    """Return the content type of a file by its name.

    Raises:
        ValueError: the name has no ending of a format that the server takes.
    """
    if path.suffix.lower() in WORKBOOKS:
        raise ValueError(f"{path.name} is a workbook; export the sheet as CSV UTF-8, or save it as Parquet")
    try:
        # What is compressed is recognised by the server.
        return CONTENT_TYPES[(path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()]
    except KeyError:
        raise ValueError(f"{path.name} has none of the endings {', '.join(CONTENT_TYPES)}; rename it") from None
