"""A process that computes, as the event loop sees it: one order at a time."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

from app.domain.errors import AdjointError
from app.domain.frames import Answered, Granted, Head, Need, Ready, Step
from app.domain.messages import ComputeAssignment
from app.domain.verdict import Died
from app.runner.session_host import News, SessionHost
from app.runner.session_line import SessionLine

Answer = tuple[Answered, bytes]


class Lost(Exception):  # noqa: N818 (named as what has happened)
    """The process is gone before it has answered."""

    def __init__(self, death: Died, granted: int) -> None:
        """Keep how it died, and how many bytes it might take."""
        super().__init__(death.detail)
        self.death = death
        self.granted = granted


class ComputeWorker:
    """A process, from its start until it is gone."""

    def __init__(
        self,
        host: SessionHost,
        assignment: ComputeAssignment,
        grant: Callable[["ComputeWorker", Need], int],
        on_gone: Callable[["ComputeWorker"], None],
    ) -> None:
        """Start it, from the event loop; `grant` says how many bytes it gets, and `on_gone` is called in the end."""
        self.id = assignment.worker_id
        self.models: tuple[str, ...] = ()
        self.kept_bytes = 0
        self.granted = assignment.memory_bytes
        self.refused: AdjointError | None = None
        """Why it was not granted what it asked for last."""
        self.worn = False
        """Whether it is to be replaced."""
        self.reserved = False
        """Whether an order is about to begin, or has begun."""
        self.file: Path | None = None
        """Where the answer is written; it is of no use if this is gone before it has answered."""
        self.reading_bytes = 0
        """What reading the body takes."""
        self.killed = False
        self.gone = asyncio.Event()
        self._grant = grant
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._answer: asyncio.Future[Answer] | None = None
        self._host = host
        ours, theirs = socket.socketpair()
        self._line = SessionLine(ours, self._hear, self._lose_line)
        self._handle = host.start(assignment, theirs, self._tell)

    @property
    def idle(self) -> bool:
        """Whether it could begin with an order."""
        return not (self.reserved or self.killed or self.gone.is_set())

    async def carry_out(self, step: Step, body: bytes) -> Answer:
        """Have an order carried out. Lost if the process is; if this is cancelled, the process is killed."""
        assert self._answer is None
        answer: asyncio.Future[Answer] = self._loop.create_future()
        self._answer = answer
        try:
            await self._ready
            self._line.send(step, body)
            return await answer
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            self._answer = None

    def kill(self) -> None:
        """End the process."""
        self.killed = True
        self._host.kill(self._handle)

    def _tell(self, news: News) -> None:
        """Have the event loop take news, from the supervisor's thread."""
        if isinstance(news, Died):
            try:
                self._loop.call_soon_threadsafe(self._bury, news)
            except RuntimeError:
                # The loop is closed: nobody waits for anything any more.
                return

    def _hear(self, head: Head, body: bytes) -> None:
        if isinstance(head, Ready) and not self._ready.done():
            self._ready.set_result(None)
        elif isinstance(head, Need):
            self._line.send(Granted(head.id, self._grant(self, head)))
        elif isinstance(head, Answered):
            self.models = tuple(head.standing["models"])
            self.kept_bytes, self.worn = head.standing["kept_bytes"], head.standing["worn"]
            if self._answer is not None and not self._answer.done():
                self._answer.set_result((head, body))

    def _lose_line(self) -> None:
        """See that a process goes that hears nothing any more; one that is gone will be reported as such."""
        self.kill()

    def _bury(self, death: Died) -> None:
        self._line.read_to_end()
        self._line.close()
        self.gone.set()
        for waiting in (self._ready, self._answer):
            if waiting is not None and not waiting.done():
                waiting.set_exception(Lost(death, self.granted))
                # Nobody may be there to look at it.
                waiting.exception()
        self._on_gone(self)
