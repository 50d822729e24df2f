"""The life of a worker process, from the fork to the last message."""

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
from app.domain.messages import Assignment, ComputeAssignment, Failed, Finished, Started
from app.domain.runtime import Runtime
from app.system.durable import Durable
from app.worker import ranks
from app.worker.compute.process import ComputeLife
from app.worker.control import ORPHANED, Control
from app.worker.fit_loop import Halfway, follow, work
from app.worker.process_group import BROKEN, DONE, die_with
from app.worker.reporter import Recorder
from app.worker.resources import confine, settle
from app.worker.session.process_main import SessionLife
from app.worker.sweep import work_on_variants

OPEN_FILES = 65_536
OUT_OF_MEMORY_SCORE = 500

_logger = logging.getLogger(__name__)


def run(channel: socket.socket, line: socket.socket | None, parent: int) -> NoReturn:
    """Work on the assignment that comes over `channel`, and end this process.

    `line` is what the steps of a session come over; `parent` is the fork server's pid.
    """
    status = BROKEN
    try:
        _settle(parent)
        _serve(channel, line)
        status = DONE
    except BaseException:
        _logger.exception("a worker broke down")
    finally:
        os._exit(status)


def _serve(channel: socket.socket, line: socket.socket | None) -> None:
    recorder = Recorder(channel)
    recorder.send(Started(os.getpid()))
    control = Control(channel)
    assignment = control.assignment()
    recorder.durable = Durable(kill_at=assignment.kill_at_op)
    runtime = Runtime.from_json(assignment.runtime)
    settle(runtime)
    confine(assignment, runtime)
    if isinstance(assignment, Assignment):
        _fit(assignment, channel, recorder, control)
    else:
        assert line is not None  # every session has one, and so has who computes
        life: SessionLife | ComputeLife
        if isinstance(assignment, ComputeAssignment):
            life = ComputeLife(assignment, line, control)
        else:
            life = SessionLife(assignment, line, recorder, control)
        control.start(recorder.flush_overdue, life.wake)
        recorder.send(life.live())


def _fit(assignment: Assignment, channel: socket.socket, recorder: Recorder, control: Control) -> None:
    others = ranks.fork(assignment.replicas, channel, partial(follow, assignment))

    def look_after() -> None:
        others.check()
        recorder.flush_overdue()

    control.start(look_after)
    try:
        verdict = _verdict(assignment, recorder, control, others.collective)
    except engine.RankLost:
        others.mourn()
    others.end()
    recorder.send(verdict)


def _verdict(
    assignment: Assignment, recorder: Recorder, control: Control, collective: engine.Collective
) -> Finished | Failed:
    if assignment.sweep is not None:
        return work_on_variants(assignment, recorder, control)
    verdict = work(assignment, recorder, control, collective)
    assert not isinstance(verdict, Halfway)  # it was given no rung
    return verdict


def _settle(parent: int) -> None:
    """Be a modest process that dies with the server and leaves nothing behind."""
    for unwanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(unwanted, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Each file of each column that is mapped into memory counts.
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(most, OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, wanted), most))
    if sys.platform == "linux":
        # Should memory run out, one fit is to go, not the server with all of them.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_SCORE))
    # The socket's end tells the same; but a thread is needed to see that, and it may have to wait for the GIL.
    if not die_with(parent):
        os._exit(ORPHANED)
