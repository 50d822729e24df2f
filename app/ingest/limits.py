"""How much an upload may be, and how much the child that reads it may use."""

from dataclasses import dataclass

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """Limits of one ingest. The first block bounds the file, the second one the child process.

    The child gets `cpu_seconds` and `wall_seconds`, plus the time that the file's size takes at
    `slowest_bytes_per_second`: a large CSV file is slow to read, and is no attack.
    """

    max_expanded_bytes: int = 4 * GIB
    max_rows: int = 1_000_000_000
    max_columns: int = 10_000
    max_rank: int = 8
    max_members: int = 256
    max_ratio: int = 200
    max_depth: int = 64
    max_json_bytes: int = 64 * MIB
    max_header_bytes: int = 16 * MIB
    max_npy_header_bytes: int = 64 * KIB
    max_record_bytes: int = 4 * MIB
    max_classes: int = 10_000
    max_class_characters: int = 256

    memory_bytes: int = 512 * MIB
    open_files: int = 64
    cpu_seconds: int = 30
    wall_seconds: float = 60.0
    slowest_bytes_per_second: int = 4 * MIB

    def cpu_budget(self, size_bytes: int) -> int:
        """CPU seconds for a file of `size_bytes`."""
        return self.cpu_seconds + size_bytes // self.slowest_bytes_per_second

    def wall_budget(self, size_bytes: int) -> float:
        """Seconds of wall-clock time for a file of `size_bytes`."""
        return self.wall_seconds + size_bytes / self.slowest_bytes_per_second
