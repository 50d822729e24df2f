"""CPUs of this process: affinity mask, container quota, and what the processor can do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
V1_CONTROLLERS = ("cpu", "cpu,cpuacct")


def usable_cpus() -> tuple[int, ...]:
    """Return the numbers of the CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def usable_cores() -> int:
    """Return how many threads can run at once: the CPUs that may be used, at most the whole ones of a quota, from 1."""
    quota = cpu_quota()
    cpus = len(usable_cpus())
    return cpus if quota is None else max(1, min(cpus, int(quota)))


@cache
def cpu_features() -> frozenset[str]:
    """Return the features of the processor as Linux names them (`avx512f`); none on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split())


def cpu_quota(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> float | None:
    """Return how many CPUs' time the container gives this process, None where it sets no limit.

    That is the smallest limit of its control group and the groups around it: `cpu.max` of version 2, `cpu.cfs_quota_us`
    over `cpu.cfs_period_us` of version 1.

    Args:
        cgroups: where control groups are mounted.
        membership: the file that lists the groups of the process.
    """
    limits = [limit for folder in _folders(cgroups, membership) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def _folders(cgroups: Path, membership: Path) -> Iterator[Path]:
    """Yield the folders of the process's groups and of those around them; inside a container only the mounted one."""
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    yield from (cgroups, *(cgroups / controller for controller in V1_CONTROLLERS))
    for line in lines:
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        mounted = cgroups if not controllers else cgroups / controllers
        inner = mounted / group.lstrip("/")
        while inner != mounted and mounted in inner.parents:
            yield inner
            inner = inner.parent


def _limit(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    # No limit is "max" in version 2 and -1 in version 1.
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
