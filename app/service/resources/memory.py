"""How much memory processes may take on this machine, and what one takes at its peak."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from app.domain.errors import Finding, TooLarge
from app.domain.runtime import NATIVE, NUMPY
from app.system.control_groups import ROOT, memory_limits

MEMINFO = Path("/proc/meminfo")
AVAILABLE = "MemAvailable:"
SHARE = 0.7
MARGIN = 1.25
MIB = 1024**2

PROCESS_BYTES: Mapping[str, int] = MappingProxyType({NUMPY: 96 * MIB, NATIVE: 242 * MIB})
"""What a process takes beside its arrays, by its executor: Python and NumPy take about 48 MiB, a loaded compiler
another 57, and up to 150 more while it compiles kernels that nobody has used before, those of convolutions above all:
such a process may take 4 % more than this once. `tests/chaos/footprints.py` measures it.
"""
DATA, PROCESS = "data_bytes", "process_bytes"


@dataclass(frozen=True, slots=True)
class MemoryTerms:
    """How many bytes all processes may take together, and what is the most that one fit or session may ask for.

    None is what the machine has.
    """

    budget_bytes: int | None = None
    fit_bytes: int | None = None

    @property
    def budget(self) -> int:
        """Bytes for all that runs at a time."""
        return memory_budget() if self.budget_bytes is None else self.budget_bytes

    @property
    def most(self) -> int:
        """Bytes that one fit or session may ask for."""
        return self.budget if self.fit_bytes is None else min(self.fit_bytes, self.budget)

    def check(self, terms: Mapping[str, int], pointer: str, what: str, advice: str, *, processes: int = 1) -> int:
        """Return the bytes that each of the `processes` of a fit or session takes, the sum of its `terms`.

        TooLarge, with the sum and what to change, if all of them take more than one may ask for.
        """
        each = sum(terms.values())
        if processes * each > self.most:
            listed = ", ".join(f"{term} {size}" for term, size in terms.items())
            for_each = f" for each of {processes} processes" if processes > 1 else ""
            needed = f"{what} needs about {processes * each} bytes of memory ({listed}{for_each})"
            finding = Finding(pointer, "memory_exceeded", f"{needed}; this server gives {self.most}; {advice}")
            raise TooLarge(finding.detail, limit=self.most, code="memory_exceeded", findings=[finding])
        return each


def memory_budget(root: Path = ROOT) -> int:
    """Return the bytes that processes may take: a share of what the machine, or the container, has."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(SHARE * min([total, *(group.limit_bytes for group in memory_limits(root))]))


def memory_left(root: Path = ROOT) -> int | None:
    """Return the bytes that the machine, or the container, can still give to a process; None if it does not tell.

    The system promises more than it has, and kills processes that take it at its word.
    """
    groups = [group.left_bytes for group in memory_limits(root) if group.left_bytes is not None]
    available = _available()
    return min(groups if available is None else [available, *groups], default=None)


def _available() -> int | None:
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(AVAILABLE)), None)


def memory_terms(estimate: Mapping[str, int], executor: str) -> dict[str, int]:
    """Return what a process with the executor takes at its peak, term by term.

    Rows are mapped from files and not counted; the terms of an estimate have a margin.
    """
    counted = {term: int(MARGIN * size) for term, size in estimate.items() if term != DATA}
    return {**counted, PROCESS: PROCESS_BYTES[executor]}


def memory_needed(estimate: Mapping[str, int], executor: str) -> int:
    """Return the bytes that a fit's process may take at its peak."""
    return sum(memory_terms(estimate, executor).values())
