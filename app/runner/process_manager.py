"""Processes that serve requests (sessions and computations), managed in the supervisor's thread.

Their messages and exits are passed on as events; `session_pool` and `compute_pool` interpret them.
"""

import logging
import socket
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from app.domain.messages import ComputeAssignment, Died, Message, SessionAssignment, Started
from app.runner.port import Exited, Handle, Report, Runner
from app.runner.process_losses import ExitLog
from app.runner.process_status import resident_bytes
from app.service.resources.workers import WorkerStatus

ProcessEvent = Message | Died
"""A message of a process, or finally how it ended."""

ServingAssignment = SessionAssignment | ComputeAssignment
"""The assignment of a process that serves requests."""

_logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class ManagedProcess:
    """A process of a session, or one that computes for requests and has no session (a `MonitoredProcess`)."""

    handle: Handle
    on_event: Callable[[ProcessEvent], None]
    session_id: str | None = None
    pid: int | None = None
    since_heartbeat: float = 0.0
    stopping: bool = False
    stalled: bool = False
    on_hold: bool = False

    @property
    def is_working(self) -> bool:
        return not self.stalled

    @property
    def state(self) -> str:
        return "stopping" if self.stopping else "running"


class ProcessManager:
    """Runs the processes of sessions and computations beside those of fits.

    Other threads enqueue commands; the supervisor's thread executes them and calls the methods marked so.
    """

    def __init__(self, runner: Runner) -> None:
        self.exit_log = ExitLog()
        self._runner = runner
        self._commands: deque[Callable[[], None]] = deque()
        self._processes: dict[Handle, ManagedProcess] = {}
        self._closed = False

    def start(
        self, assignment: ServingAssignment, frames: socket.socket, on_event: Callable[[ProcessEvent], None]
    ) -> Handle:
        """Start a process that serves `frames`, which is closed here; from any thread.

        `on_event` is called in the supervisor's thread, finally with a `Died`; it must not raise.
        """
        handle = Handle(assignment.owner_id, assignment.attempt, assignment.token)
        session_id = assignment.session_id if isinstance(assignment, SessionAssignment) else None
        self._enqueue(partial(self._start, assignment, frames, ManagedProcess(handle, on_event, session_id)))
        return handle

    def stop(self, handle: Handle, grace: float) -> None:
        """Ask a process to write a snapshot and exit; kill it after `grace` seconds. From any thread."""
        self._enqueue(partial(self._stop, handle, grace))

    def kill(self, handle: Handle) -> None:
        """Kill a process; from any thread."""
        self._enqueue(partial(self._kill, handle))

    def workers(self) -> list[WorkerStatus]:
        """Return the processes that have started; from any thread."""
        return [
            WorkerStatus(
                process.pid,
                None,
                process.handle.attempt,
                process.state,
                self._resident_bytes(process),
                session_id=process.session_id,
            )
            for process in [*self._processes.values()]
            if process.pid is not None
        ]

    def worker_states(self) -> list[tuple[int, str]]:
        """Return the pids of the processes that have started, and their states; from any thread."""
        return [(process.pid, process.state) for process in [*self._processes.values()] if process.pid is not None]

    def resident_bytes(self) -> dict[str, int]:
        """Return the resident memory of session processes by session; for the supervisor."""
        return {
            process.session_id: self._resident_bytes(process)
            for process in self._processes.values()
            if process.pid is not None and process.session_id is not None
        }

    def _resident_bytes(self, process: ManagedProcess) -> int:
        """Return the resident memory of a process; 0 if it is not of this machine."""
        is_remote = self._runner.is_remote and process.session_id is not None
        return 0 if process.pid is None or is_remote else resident_bytes(process.pid)

    @property
    def is_idle(self) -> bool:
        """Whether there are no processes and no pending commands."""
        return not self._processes and not self._commands

    @property
    def processes(self) -> Iterator[ManagedProcess]:
        """Iterate over the processes; for the supervisor."""
        return iter(self._processes.values())

    def run_commands(self) -> None:
        """Execute the pending commands; for the supervisor."""
        while self._commands:
            self._commands.popleft()()

    def drain(self, grace: float) -> None:
        """Stop all processes and start no more; for the supervisor."""
        self._closed = True
        for handle in [*self._processes]:
            self._stop(handle, grace)

    def handle_message(self, message: Report | Exited) -> bool:
        """Pass a message or exit to its process's listener; False if it is not of a managed process. For the
        supervisor.
        """
        if isinstance(message, Exited) and message.reason != "finished" and not message.asked:
            self.exit_log.note(message.handle, with_server=message.with_server)
        process = self._processes.get(message.handle)
        if process is None:
            return False
        if isinstance(message, Exited):
            del self._processes[message.handle]
            process.on_event(_classify_death(process, message))
        else:
            if isinstance(message.message, Started):
                process.pid = message.message.pid
            process.on_event(message.message)
        return True

    def close(self) -> None:
        """Report all remaining processes as stopped, and refuse pending commands; for a closed runner."""
        self._closed = True
        self.run_commands()
        for process in [*self._processes.values()]:
            del self._processes[process.handle]
            process.on_event(STOPPED)

    def _enqueue(self, command: Callable[[], None]) -> None:
        self._commands.append(command)
        self._runner.wake()

    def _start(self, assignment: ServingAssignment, frames: socket.socket, process: ManagedProcess) -> None:
        with frames:
            if self._closed:
                process.on_event(STOPPED)
                return
            try:
                self._runner.start(assignment, frames)
            except OSError as error:
                _logger.exception("%s: no process can be started", assignment.owner_id)
                process.on_event(Died("not_started", f"no process could be started ({type(error).__name__})"))
            else:
                self._processes[process.handle] = process

    def _stop(self, handle: Handle, grace: float) -> None:
        process = self._processes.get(handle)
        if process is not None:
            process.stopping = True
            self._runner.stop(handle, "drain", grace)

    def _kill(self, handle: Handle) -> None:
        if handle in self._processes:
            self._runner.kill(handle)


STOPPED = Died("stopped", "the process was stopped, since the server is stopping")


def _classify_death(process: ManagedProcess, exited: Exited) -> Died:
    if process.stalled:
        return Died("stalled", "no heartbeat within the lease; the process was killed")
    if process.stopping and exited.reason in ("finished", "killed"):
        return Died("stopped", "the process was asked to exit")
    return Died("error" if exited.reason == "finished" else exited.reason, exited.detail)
