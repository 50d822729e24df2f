"""`.npz` files: archives of arrays, each of which becomes a column."""

import re
from io import BufferedReader

from app.ingest.columns import ColumnSet
from app.ingest.limits import IngestLimits, IngestOptions
from app.ingest.npy import read_array
from app.ingest.zip_directory import STORED, Member, Rules, member_source, read_directory

_ENDING = ".npy"
_NAME = re.compile(r"(?!\.+\.npy\Z)(?![A-Za-z]:)[^/\\\x00-\x1f\x7f]{1,200}\.npy")
"""No folder, no drive, no control characters, not only points."""


def read_arrays_directory(file: BufferedReader, size_bytes: int, limits: IngestLimits) -> list[tuple[str, Member]]:
    """Return the name of each array, and the member that holds it, in the order in which they lie in the file."""
    rules = Rules(
        limits.max_members,
        lambda name: _NAME.fullmatch(name) is not None,
        "a member must be a plain file called NAME.npy, in no folder",
        "use numpy.savez or numpy.savez_compressed (0 or 8)",
    )
    members = read_directory(file, size_bytes, limits, rules)
    return [(member.name.removesuffix(_ENDING), member) for member in members]


def read_npz(file: BufferedReader, size_bytes: int, columns: ColumnSet, _options: IngestOptions) -> None:
    """Read every member as the column of its name."""
    for number, (name, member) in enumerate(read_arrays_directory(file, size_bytes, columns.limits)):
        with member_source(file, member, number) as source:
            begin = member.offset if member.method == STORED else None
            read_array(source, name, columns, where=f"member {number + 1}", begin=begin)
