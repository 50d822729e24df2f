"""Memory of worker processes: what one needs at its peak, the limits, and the pool that they share."""

import os
import threading
from collections.abc import Callable, Mapping
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
another 57, and up to 150 more while it compiles kernels that were not used before, those of convolutions above all:
such a process may take 4 % more than this once. `tests/chaos/footprints.py` measures it.
"""
DATA, PROCESS = "data_bytes", "process_bytes"


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """Memory limits in bytes: of all processes together, and of one fit or session; None is what the machine has."""

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
    """Return the bytes that the machine, or the container, can still give to a process; None if not reported.

    The system promises more than it has, and kills processes that take it at its word.
    """
    groups = [left for group in memory_limits(root) if (left := group.left_bytes) is not None]
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


class MemoryPool:
    """The memory that the processes of fits, sessions and computations share. Thread-safe.

    A fit that does not fit waits, and its memory is set aside: new session processes and computations get what is
    left, so that they cannot starve it. Idle compute processes keep cached models; that memory is not reserved, and
    they are shut down as soon as the sum of everything exceeds the budget.
    """

    def __init__(self, budget: int | None = None) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._fits: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._compute: dict[str, int] = {}
        self._idle: dict[str, int] = {}
        self._session_usage: Mapping[str, int] = {}
        self._waiting_bytes = 0
        self._on_session_gone: Callable[[], object] = lambda: None
        self._on_overdrawn: Callable[[], object] = lambda: None

    def on_released(self, hook: Callable[[], object]) -> None:
        """Call `hook` when a session process, or a computation that a fit waits for, releases memory."""
        self._on_session_gone = hook

    def on_overcommitted(self, hook: Callable[[], object]) -> None:
        """Call `hook`, from any thread, when idle compute processes have to be shut down."""
        self._on_overdrawn = hook

    @property
    def budget(self) -> int | None:
        """Bytes for all processes together, None if they are not limited."""
        return self._budget

    @property
    def reserved(self) -> int:
        """Bytes that processes hold now."""
        with self._lock:
            return self._reserved() + sum(self._idle.values())

    @property
    def committed(self) -> int:
        """Bytes that are reserved by active processes, or set aside for a waiting fit."""
        with self._lock:
            return self._committed() + self._reserved_by_sessions() + sum(self._compute.values())

    @property
    def has_waiting_fit(self) -> bool:
        """Whether a fit waits for memory."""
        return self._waiting_bytes > 0

    def reserve_fit(self, fit_id: str, needed: int | None) -> bool:
        """Reserve memory for a fit (None: unknown, so all of it); if False, it is the waiting fit."""
        if self._budget is None:
            return True
        needed_bytes = self._budget if needed is None else needed
        with self._lock:
            granted = needed_bytes <= self._budget - self._reserved()
            if granted:
                self._fits[fit_id] = needed_bytes
            self._waiting_bytes = 0 if granted else needed_bytes
        self._check_overcommitted()
        return granted

    def clear_waiting_fit(self) -> None:
        """Record that no fit waits for memory."""
        self._waiting_bytes = 0

    def reserve_session(self, session_id: str, needed: int) -> bool:
        """Reserve memory for a session process, unless it has it already; False if there is too little."""
        if self._budget is None:
            return True
        with self._lock:
            committed_bytes = self._committed() + self._reserved_by_sessions() + sum(self._compute.values())
            granted = session_id in self._sessions or committed_bytes + needed <= self._budget
            if granted:
                self._sessions.setdefault(session_id, needed)
        self._check_overcommitted()
        return granted

    def reserve_compute(self, worker_id: str, needed: int) -> bool:
        """Set the reservation of a compute process; if False, there is too little, and it is unchanged."""
        if self._budget is None:
            return True
        with self._lock:
            others = sum(size for other, size in self._compute.items() if other != worker_id)
            granted = self._committed() + self._reserved_by_sessions() + others + needed <= self._budget
            if granted:
                self._idle.pop(worker_id, None)
                self._compute[worker_id] = needed
        self._check_overcommitted()
        return granted

    def mark_compute_idle(self, worker_id: str, committed: int) -> None:
        """Record that a compute process is idle, and how much memory it keeps."""
        with self._lock:
            self._compute.pop(worker_id, None)
            self._idle[worker_id] = committed
        self._notify_waiting_fit()
        self._check_overcommitted()

    def release_compute(self, worker_id: str) -> None:
        """Release the memory of a compute process that has exited."""
        with self._lock:
            self._idle.pop(worker_id, None)
            self._compute.pop(worker_id, None)
        self._notify_waiting_fit()

    def could_fit(self, needed: int) -> bool:
        """Whether a session process would fit if there were no other sessions."""
        with self._lock:
            committed_bytes = self._committed() + sum(self._compute.values())
            return self._budget is None or committed_bytes + needed <= self._budget

    def record_usage(self, sessions: Mapping[str, int]) -> None:
        """Record the actual memory of session processes, which is not known before a step is executed."""
        with self._lock:
            self._session_usage = sessions

    def release_fit(self, fit_id: str) -> None:
        """Release the memory of a fit whose processes have exited."""
        with self._lock:
            self._fits.pop(fit_id, None)

    def release_session(self, session_id: str) -> None:
        """Release the memory of a session process that has exited."""
        with self._lock:
            had = self._sessions.pop(session_id, None)
        if had is not None:
            self._on_session_gone()

    def _reserved(self) -> int:
        return sum(self._fits.values()) + self._reserved_by_sessions() + sum(self._compute.values())

    def _committed(self) -> int:
        """Return what fits hold, or what is set aside for the waiting one."""
        return max(sum(self._fits.values()), self._waiting_bytes)

    def _notify_waiting_fit(self) -> None:
        if self._waiting_bytes:
            self._on_session_gone()

    def _check_overcommitted(self) -> None:
        with self._lock:
            overcommitted = bool(self._idle) and (
                self._budget is not None and self._reserved() + sum(self._idle.values()) > self._budget
            )
        if overcommitted:
            self._on_overdrawn()

    def _reserved_by_sessions(self) -> int:
        return sum(max(needed, self._session_usage.get(session_id, 0)) for session_id, needed in self._sessions.items())
