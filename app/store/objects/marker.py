"""The file in a data directory that names the object storage of its blobs: no server starts without it by mistake."""

from pathlib import Path

from app.domain.errors import storage_faults
from app.system.durable import Durable

MARKER = "object-storage"


def read_marker(data_dir: Path) -> str | None:
    """Return the name of the object storage that holds the blobs of a data directory, None if they are in it."""
    try:
        return (data_dir / MARKER).read_text(encoding="utf-8", errors="replace").strip()[:1000]
    except FileNotFoundError:
        return None


def write_marker(data_dir: Path, name: str, durable: Durable) -> None:
    """Note in the data directory where its blobs are."""
    marker = data_dir / MARKER
    content = f"{name}\n"
    if read_marker(data_dir) == name:
        return
    partial = marker.with_suffix(".partial")
    with storage_faults("the name of the object storage"):
        partial.unlink(missing_ok=True)
        with durable.create(partial) as file:
            file.write(content.encode())
            file.sync()
        durable.rename(partial, marker)
        durable.sync_folder(data_dir.resolve())
