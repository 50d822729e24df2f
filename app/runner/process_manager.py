"""Processes that serve requests, as the supervisor's thread sees them: started on request, watched, and seen off.

They are those of sessions, and those that compute. What they say and how they end is passed on; what it means is for
others to find out.
"""

import logging
import socket
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from app.domain.messages import ComputeAssignment, Died, Message, SessionAssignment, Started
from app.runner.port import Exited, Handle, Report, Runner
from app.runner.process_losses import Ends
from app.runner.process_status import rss_bytes
from app.service.resources.workers import WorkerStatus

News = Message | Died
"""What is told of a process: its messages, and last of all how it died."""

Serving = SessionAssignment | ComputeAssignment
"""What a process is started with that serves requests."""

_logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Hosted:
    """A process of a session, or one that computes for requests, which has none (a `vigil.Watched`)."""

    handle: Handle
    tell: Callable[[News], None]
    session_id: str | None = None
    pid: int | None = None
    silence: float = 0.0
    stopping: bool = False
    stalled: bool = False
    held: bool = False

    @property
    def at_work(self) -> bool:
        return not self.stalled

    @property
    def state(self) -> str:
        return "stopping" if self.stopping else "running"


class SessionHost:
    """Has processes of sessions run beside those of fits. The supervisor's thread calls what says so."""

    def __init__(self, runner: Runner) -> None:
        """Run them on `runner`."""
        self.ends = Ends()
        self._runner = runner
        self._orders: deque[Callable[[], None]] = deque()
        self._hosted: dict[Handle, Hosted] = {}
        self._closed = False

    def start(self, assignment: Serving, line: socket.socket, tell: Callable[[News], None]) -> Handle:
        """Have a process started that serves `line`, which is closed here; from any thread.

        `tell` is called in the supervisor's thread, and at last with a `Died`; it must not raise.
        """
        handle = Handle(assignment.owner_id, assignment.attempt, assignment.token)
        session_id = assignment.session_id if isinstance(assignment, SessionAssignment) else None
        self._order(partial(self._start, assignment, line, Hosted(handle, tell, session_id)))
        return handle

    def stop(self, handle: Handle, grace: float) -> None:
        """Have a process put everything aside and go, killed after `grace` seconds; from any thread."""
        self._order(partial(self._stop, handle, grace))

    def kill(self, handle: Handle) -> None:
        """Have a process killed; from any thread."""
        self._order(partial(self._kill, handle))

    def workers(self) -> list[WorkerStatus]:
        """Return the processes that have reported; from any thread."""
        return [
            WorkerStatus(
                hosted.pid,
                None,
                hosted.handle.attempt,
                hosted.state,
                rss_bytes(hosted.pid),
                session_id=hosted.session_id,
            )
            for hosted in [*self._hosted.values()]
            if hosted.pid is not None
        ]

    def rss_bytes(self) -> dict[str, int]:
        """Return what the processes that have reported hold in memory, by their sessions; for the supervisor."""
        return {
            hosted.session_id: rss_bytes(hosted.pid)
            for hosted in self._hosted.values()
            if hosted.pid is not None and hosted.session_id is not None
        }

    @property
    def quiet(self) -> bool:
        """Whether there are no processes, and none are to be started."""
        return not self._hosted and not self._orders

    @property
    def watched(self) -> Iterator[Hosted]:
        """Go through the processes that are at work; for the supervisor."""
        return iter(self._hosted.values())

    def obey(self) -> None:
        """Do what was ordered since the last time; for the supervisor."""
        while self._orders:
            self._orders.popleft()()

    def drain(self, grace: float) -> None:
        """Have all processes put everything aside and go, and start none any more; for the supervisor."""
        self._closed = True
        for handle in [*self._hosted]:
            self._stop(handle, grace)

    def hear(self, news: Report | Exited) -> bool:
        """Pass news on; False if they are not of a session. For the supervisor."""
        if isinstance(news, Exited) and news.reason != "finished" and not news.asked:
            self.ends.note(news.handle, with_server=news.with_server)
        hosted = self._hosted.get(news.handle)
        if hosted is None:
            return False
        if isinstance(news, Exited):
            del self._hosted[news.handle]
            hosted.tell(_death(hosted, news))
        else:
            if isinstance(news.message, Started):
                hosted.pid = news.message.pid
            hosted.tell(news.message)
        return True

    def close(self) -> None:
        """Tell of what never ended that it has, and refuse what is still ordered; once the runner is closed."""
        self._closed = True
        self.obey()
        for hosted in [*self._hosted.values()]:
            del self._hosted[hosted.handle]
            hosted.tell(STOPPED)

    def _order(self, order: Callable[[], None]) -> None:
        self._orders.append(order)
        self._runner.wake()

    def _start(self, assignment: Serving, line: socket.socket, hosted: Hosted) -> None:
        with line:
            if self._closed:
                hosted.tell(STOPPED)
                return
            try:
                self._runner.start(assignment, line)
            except OSError as error:
                _logger.exception("%s: no process can be started", assignment.owner_id)
                hosted.tell(Died("not_started", f"no process could be started ({type(error).__name__})"))
            else:
                self._hosted[hosted.handle] = hosted

    def _stop(self, handle: Handle, grace: float) -> None:
        hosted = self._hosted.get(handle)
        if hosted is not None:
            hosted.stopping = True
            self._runner.stop(handle, "drain", grace)

    def _kill(self, handle: Handle) -> None:
        if handle in self._hosted:
            self._runner.kill(handle)


STOPPED = Died("stopped", "the process was stopped, since the server is stopping")


def _death(hosted: Hosted, exited: Exited) -> Died:
    """Say what it means that a process is gone."""
    if hosted.stalled:
        return Died("stalled", "the process had not been heard of for too long and was killed")
    if hosted.stopping and exited.reason in ("finished", "killed"):
        return Died("stopped", "the process was asked to go")
    return Died("error" if exited.reason == "finished" else exited.reason, exited.detail)
