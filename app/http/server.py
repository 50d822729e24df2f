"""The HTTP server: uvicorn, which goes on answering while the work behind it comes to a halt."""

import asyncio
import logging
import resource
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from app.http.direct_answers import DirectAnswers
from app.http.http_protocol import Common, Connection, ConnectionLimits

KEEP_ALIVE_SECONDS = 30
GRACE_SECONDS = 3
BACKLOG = 2048
ACCEPTED_AT_ONCE = 64
"""Connections that are accepted in one turn of the event loop: each takes it about a tenth of a millisecond."""
TICK_SECONDS = 1.0
"""Interval of changes of the date in the headers of answers."""
CLOSING_SECONDS, CLOSING_SECONDS_MAX = 0.001, 0.1
"""Intervals of looks for connections that are still open at the end: the first, and the longest."""
OTHER_FILES = 1024
"""Open files besides connections: those that are sent, the database, pipes to processes."""

_logger = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """Reports when it is ready. After a signal it drains first, and stops listening only then."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None], drain: Callable[[], None]) -> None:
        """Call `on_ready` when requests are answered, and `drain`, in a thread, when a signal is to end that."""
        self._wake: Callable[[], object] = lambda: None
        super().__init__(config)
        self._on_ready = on_ready
        self._drain = drain

    @property
    def should_exit(self) -> bool:
        """Whether the server is to end; a signal sets it, and any thread may."""
        return self._should_exit

    @should_exit.setter
    def should_exit(self, value: bool) -> None:
        self._should_exit = value
        self._wake()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # asyncio has taken ACCEPTED_AT_ONCE for the length of the queue as well
        if self.started:
            self._on_ready()

    async def main_loop(self) -> None:
        """Answer requests until the server is to end, and then until `drain` has returned; nothing is polled for."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        self._wake = partial(loop.call_soon_threadsafe, over.set)
        if not self.should_exit:
            await self._tick_until(loop.create_task(over.wait()))
        self._wake = lambda: None
        # Here rather than in `handle_exit`, which runs within a signal handler and must take no lock. In a thread of
        # its own: those of the event loop may all be blocked by a database that does not respond, until this ends that.
        with ThreadPoolExecutor(1, "drain") as executor:
            await self._tick_until(loop.run_in_executor(executor, self._drain))

    async def _tick_until(self, future: asyncio.Future[Any]) -> None:
        """Keep the date of answers up to date until the future is done."""
        while not future.done():
            await self.on_tick(0)
            await asyncio.wait([future], timeout=TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End connections and the application; unlike uvicorn's, this waits no longer than there are connections."""
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in [*self.server_state.connections]:
            connection.shutdown()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await self._until_answered()
        except TimeoutError:
            _logger.warning("%d requests are cut: they took too long to end", len(self.server_state.tasks))
            for task in self.server_state.tasks:
                task.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _until_answered(self) -> None:
        pause = CLOSING_SECONDS
        while (self.server_state.connections or self.server_state.tasks) and not self.force_exit:
            await asyncio.sleep(pause)
            pause = min(2 * pause, CLOSING_SECONDS_MAX)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end. The signal is not raised again afterwards: having ended as asked is a success."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address; port 0 lets the system choose. OSError if it is taken or unknown."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except BaseException:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL at which a bound socket is reached from this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (any address is reached by loopback)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    app: ASGIApp,
    listener: socket.socket,
    terms: ConnectionLimits,
    on_ready: Callable[[], None],
    drain: Callable[[], None],
    direct: DirectAnswers | None = None,
) -> bool:
    """Answer requests on `listener` until a signal has been followed by `drain`; return whether it ever began.

    What `direct` answers does not come to `app`.
    """
    _allow_files(terms.max_connections + OTHER_FILES)
    connection: Any = partial(Connection, terms=terms, common=Common(terms, direct))  # uvicorn only calls it
    config = uvicorn.Config(
        app,
        http=connection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=ACCEPTED_AT_ONCE,
        h11_max_incomplete_event_size=terms.header_bytes,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Server(config, on_ready, drain)
    server.run(sockets=[listener])
    return server.started


def _allow_files(wanted: int) -> None:
    """Raise this process's limit of open files to `wanted`, or to the hard limit."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    if files != resource.RLIM_INFINITY and files < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
