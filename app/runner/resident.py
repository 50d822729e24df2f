"""How much memory a worker holds."""

import psutil  # type: ignore[import-untyped]  # it has no types


def rss_bytes(worker: int) -> int:
    """Return the resident memory of a worker and its other ranks; pages that they share count for each."""
    try:
        family = [process := psutil.Process(worker), *process.children(recursive=True)]
    except psutil.Error:
        return 0
    return sum(map(_own_rss_bytes, family))


def _own_rss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
