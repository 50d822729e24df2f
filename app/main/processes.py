"""Everything that runs in processes: fits, sessions and computations; and the recovery of what a stop has left."""

from dataclasses import dataclass
from pathlib import Path

from app.main.runner import opened_runner
from app.main.storage import Foundation, emptied
from app.runner.compute_pool import ComputePool
from app.runner.process_manager import ProcessManager
from app.runner.session_pool import SessionPool
from app.runner.supervisor import Supervisor, SupervisorOptions
from app.service.admin.quarantine import Orphans
from app.service.admin.recovery import Recovery, recover
from app.service.attempts.assignments import WorkerConfig
from app.service.attempts.attempts import Attempts
from app.service.attempts.leadership import SOLE_SERVER, Leadership
from app.service.sessions.attempts import SessionAttempts, SessionConfig
from app.service.sessions.directories import SESSIONS, SessionDirs
from app.service.sessions.ownership import SOLE_OWNER, SessionOwnership, SharedOwnership
from app.service.sessions.session_storage import SessionStorage
from app.system.durable import Durable


@dataclass(frozen=True, slots=True)
class Processes:
    """What starts processes, and what the service needs of them.

    Attributes:
        recovery: what was found and mended at this start; None if another server was running.
    """

    supervisor: Supervisor
    session_pool: SessionPool
    compute_pool: ComputePool
    session_dirs: SessionDirs
    session_files: SessionStorage
    ownership: SessionOwnership
    orphans: Orphans
    recovery: Recovery | None


def build_processes(base: Foundation) -> Processes:
    """Recover what a stopped server has left, and connect what runs processes; nothing is started."""
    opened, storage = base.opened, base.storage
    settings, membership, blobs = opened.settings, opened.membership, opened.blobs.store
    leadership: Leadership = SOLE_SERVER if membership is None else membership.election
    config = WorkerConfig(
        settings.workers,
        settings.checkpoint_seconds,
        settings.kill_worker_at_op,
        base.memory_config,
        settings.tenant_running,
        leadership,
    )
    attempts = Attempts(storage, base.staging, base.notifier.notify, config, opened.durable, base.memory)
    runner = opened_runner(settings, opened.store, opened.clock, base.staging)
    session_root = settings.data_dir.resolve() / SESSIONS
    session_dirs, session_files = _open_session_files(base, session_root)
    ownership: SessionOwnership = SOLE_OWNER if membership is None else SharedOwnership(membership.id, session_files)
    session_config = SessionConfig(max(1, settings.workers), settings.kill_worker_at_op, base.memory_config.most)
    sessions = SessionAttempts(opened.store, blobs, session_files, session_config, storage.integrity, ownership)
    recovery = None
    quarantine = opened.blobs.quarantine(lambda digest: storage.sweeper.discard([digest]))
    orphans = Orphans(opened.store, quarantine, session_root, base.staging, opened.quarantine)
    if membership is None or membership.is_first:
        recovery = recover(opened.store, blobs, orphans, attempts, sessions, opened.clock, blobs.cleared, runner.adopt)
        opened.quarantine.expire()
    manager = ProcessManager(runner)
    session_pool = SessionPool(sessions, manager, settings, base.memory)
    compute_pool = ComputePool(manager, settings, base.memory, base.memory_config, storage.scratch)
    options = SupervisorOptions(
        processes=manager, memory=base.memory, check_storage=storage.space.check_disk, leadership=leadership
    )
    supervisor = Supervisor(attempts, runner, settings, opened.clock, options)
    blobs.on_transferred(supervisor.wake)
    return Processes(supervisor, session_pool, compute_pool, session_dirs, session_files, ownership, orphans, recovery)


def _open_session_files(base: Foundation, root: Path) -> tuple[SessionDirs, SessionStorage]:
    """Return the folders that sessions work in, and where their files are kept: in `root` unless servers share none."""
    opened = base.opened
    kept = SessionDirs(root, opened.durable)
    if opened.membership is None or not opened.settings.shares_sessions:
        return kept, SessionStorage(base.storage, kept)
    # A folder that no process of an earlier server writes to.
    copies = SessionDirs(emptied(opened.folder / SESSIONS) / opened.membership.id, Durable(syncs=False))
    return copies, SessionStorage(base.storage, copies, former=kept)
