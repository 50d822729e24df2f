"""Memory of the control groups that this process is in, in either version of their hierarchy.

A container or a service of systemd is such a group. Inside a container its own group may be all that is mounted, under
another name than the process uses; and a limit of a group around counts as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
_CONTROLLER = "memory"


@dataclass(frozen=True, slots=True)
class _Files:
    """How a version calls its files."""

    limit: str
    used: str
    cached: str
    kills: str


_VERSION_2 = _Files("memory.max", "memory.current", "inactive_file", "memory.events")
_VERSION_1 = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "memory.oom_control")


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """A limit of a group."""

    limit_bytes: int
    _folder: Path
    _files: _Files

    @property
    def left_bytes(self) -> int | None:
        """What is left of it now, reclaimable pages of files included; None if that is not known."""
        used = _read(self._folder / self._files.used)
        if not used.isdecimal():
            return None
        cached = _table(self._folder / "memory.stat").get(self._files.cached, 0)
        return max(self.limit_bytes - int(used) + cached, 0)


def memory_limits(root: Path = ROOT) -> list[MemoryLimit]:
    """Return the limits of this process's group and of those around it; a group without one is left out.

    Version 1 has a limit everywhere, beyond all memory where none was set.
    """
    limits = ((_read(folder / files.limit), folder, files) for folder, files in _groups(root))
    return [MemoryLimit(int(limit), folder, files) for limit, folder, files in limits if limit.isdecimal()]


def memory_kills(root: Path = ROOT) -> int | None:
    """Return how often the kernel has killed a process of the narrowest group that reports it, None if none does."""
    for folder, files in _groups(root):
        counts = _table(folder / files.kills)
        if "oom_kill" in counts:
            return counts["oom_kill"]
    return None


def _groups(root: Path) -> Iterator[tuple[Path, _Files]]:
    """Go through the folders of the process's groups, from the narrowest to the one that is mounted."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        if controllers and _CONTROLLER not in controllers.split(","):
            continue
        mounted, files = root / "sys/fs/cgroup", _VERSION_2
        if controllers:
            mounted, files = mounted / _CONTROLLER, _VERSION_1
        inner = mounted / group.strip("/")
        while mounted in inner.parents:
            yield inner, files
            inner = inner.parent
        yield mounted, files


def _table(path: Path) -> dict[str, int]:
    """Read lines of a name and a number."""
    pairs = (line.split() for line in _read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
