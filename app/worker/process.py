"""The main function of a worker process, from the fork to the last message."""

import contextlib
import logging
import os
import resource
import signal
import socket
import sys
from functools import partial
from pathlib import Path
from typing import NoReturn

import engine
from app.domain.messages import Assignment, ComputeAssignment, Failed, Finished, SessionAssignment, Started
from app.domain.replicas import ReplicaShare
from app.domain.runtime import Runtime
from app.system.durable import Durable
from app.worker import ranks
from app.worker.compute.process import ComputeProcess
from app.worker.control import EXIT_SERVER_GONE, Control
from app.worker.fit_loop import RungReached, run_fit, run_rank
from app.worker.process_group import EXIT_FAULT, EXIT_OK, exit_with_parent
from app.worker.replica import serve_replica
from app.worker.reporter import Reporter
from app.worker.resources import apply_runtime, confine
from app.worker.session.process_main import SessionProcess
from app.worker.sweep import run_sweep
from app.worker.warm_up import WorkerReporter

OPEN_FILES = 65_536
OUT_OF_MEMORY_SCORE = 500

_logger = logging.getLogger(__name__)


def run_worker(channel: socket.socket, frames: socket.socket | None, parent: int, reports: WorkerReporter) -> NoReturn:
    """Run the assignment that arrives over `channel`, and exit.

    `frames` is the socket for the steps of a session or computations, or that at which the first of the replicas on
    several nodes listens for the others; `parent` is the pid of the fork server, to which it reports by `reports`.
    """
    status = EXIT_FAULT
    try:
        _configure_process(parent)
        _serve(channel, frames, reports)
        status = EXIT_OK
    except BaseException:
        _logger.exception("unhandled error in a worker")
    finally:
        os._exit(status)


def _serve(channel: socket.socket, frames: socket.socket | None, reports: WorkerReporter) -> None:
    reporter = Reporter(channel)
    reporter.send(Started(os.getpid()))
    control = Control(channel, reports.report_if_due)
    assignment = control.assignment()
    is_copy = isinstance(assignment, SessionAssignment) and assignment.is_copy
    reporter.durable = Durable(kill_at=assignment.kill_at_op, syncs=not is_copy)
    runtime = Runtime.from_json(assignment.runtime)
    apply_runtime(runtime)
    confine(assignment, runtime)
    if isinstance(assignment, Assignment) and assignment.replica is not None:
        serve_replica(assignment, ReplicaShare.from_json(assignment.replica), frames, reporter, control)
    elif isinstance(assignment, Assignment):
        if _serve_fit(assignment, channel, reporter, control):
            reports.report_fit(assignment)
    else:
        assert frames is not None  # sessions and computations have one
        worker: SessionProcess | ComputeProcess
        tick = reporter.flush_overdue
        if isinstance(assignment, ComputeAssignment):
            worker = ComputeProcess(assignment, frames, control)
        else:
            worker = session = SessionProcess(assignment, frames, reporter, control)

            def tick() -> None:
                reporter.flush_overdue()
                session.exit_if_succeeded()

        control.start(tick, worker.wake)
        reporter.send(worker.run())
    reports.report()


def _serve_fit(assignment: Assignment, channel: socket.socket, reporter: Reporter, control: Control) -> bool:
    """Run the fit, and return whether it has ended without an error."""
    others = ranks.fork_ranks(assignment.replicas, channel, partial(run_rank, assignment))

    def supervise() -> None:
        others.check()
        reporter.flush_overdue()

    control.start(supervise)
    try:
        verdict = _run_assignment(assignment, reporter, control, others.collective)
    except engine.RankLost:
        others.exit_with_peer()
    others.end()
    reporter.send(verdict)
    return isinstance(verdict, Finished)


def _run_assignment(
    assignment: Assignment, reporter: Reporter, control: Control, collective: engine.Collective
) -> Finished | Failed:
    if assignment.sweep is not None:
        return run_sweep(assignment, reporter, control)
    verdict = run_fit(assignment, reporter, control, collective)
    assert not isinstance(verdict, RungReached)  # it stops at a rung only if it has one
    return verdict


def _configure_process(parent: int) -> None:
    """Set limits, ignore signals, and exit with the fork server."""
    for unwanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(unwanted, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Each file of each column that is mapped into memory counts.
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    stop_requested = OPEN_FILES if most == resource.RLIM_INFINITY else min(most, OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, stop_requested), most))
    if sys.platform == "linux":
        # If memory runs out, the kernel should kill one fit, not the server.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_SCORE))
    # The end of the socket means the same, but only the control thread reads it, which may have to wait for the GIL.
    if not exit_with_parent(parent):
        os._exit(EXIT_SERVER_GONE)
