"""The bridge: the only process of a server that is connected to Ray.

The server starts it as `python -m app.runner.cluster.bridge FORMAT DESCRIPTOR`, with the format of its log, a socket
as its standard input, and another one over which the sockets of sessions come. It ends when the other end of its
standard input does. Ray ends a process that has lost its cluster for a minute, and some of its calls wait as long:
neither may happen to a server. Actors go on without a bridge, and the next one finds those of fits by their names.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable
from dataclasses import asdict
from typing import Any, cast

from app.domain.errors import BadMessage, RayUnusable
from app.runner.cluster.actor_end import close_actor
from app.runner.cluster.code_identity import identity
from app.runner.cluster.connection import connect
from app.runner.cluster.follower import Follower, Nodes
from app.runner.cluster.protocol import (
    NAME_SEPARATOR,
    Acknowledge,
    Adopt,
    Adopted,
    Connect,
    Connected,
    Event,
    Found,
    Gone,
    Kill,
    Order,
    Refused,
    Release,
    Send,
    Start,
    StartReplicas,
    StartSession,
    from_text,
    to_text,
)
from app.runner.cluster.replica_follower import ReplicaFollower, list_groups, remove_groups
from app.runner.cluster.session_follower import SessionFollower
from app.system.log import LogFormat, configure_log

LINE_BYTES_MAX = 1 << 30

FINISH_SECONDS = 4.0
"""How long the bridge goes on when its server ends, until actors that it is ending have ended."""


_logger = logging.getLogger(__name__)


class Bridge:
    """Carries out the orders of one server."""

    def __init__(self, writer: asyncio.StreamWriter, terms: Connect, sockets: socket.socket | None = None) -> None:
        """Tell events over `writer`; the sockets of sessions come over `sockets`."""
        self._writer = writer
        self._sockets = sockets
        self._terms = {**asdict(terms), "identity": identity()}
        self._nodes = Nodes()
        self._followers: dict[str, Follower] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def emit(self, event: Event) -> None:
        """Tell the server of an event."""
        self._writer.write(to_text(event))

    async def handle(self, order: Order) -> None:
        """Carry out an order; what takes long is done beside others."""
        if isinstance(order, Adopt):
            await self._adopt(
                [Adopted(**each) for each in order.attempts], frozenset(order.ended), kill_others=order.all
            )
        elif isinstance(order, StartSession):
            frames = self._receive_socket(order.token)
            session = self._followers[order.token] = SessionFollower(order, frames, self._nodes, self.emit)
            session.start(order, self._terms)
        elif isinstance(order, Start):
            has_group = isinstance(order, StartReplicas)
            follower = self._followers[order.token] = self._follower(order.token, order.staging, 0, has_group=has_group)
            follower.start(order, self._terms)
        elif (known := self._followers.get(order.token)) is not None:
            match order:
                case Send(_, message, grace):
                    self._spawn(known.send(message, grace))
                case Kill():
                    self._spawn(self._end(order.token, known.kill()))
                case Acknowledge(token, None):
                    del self._followers[token]
                    self._spawn(self._end(token, known.forget()))
                case Release(token):
                    del self._followers[token]
                    known.release()
                case Acknowledge(_, int(number)):
                    known.acknowledge(number)

    async def finish(self) -> None:
        """Wait until actors have ended and what they had reserved is free, for at most FINISH_SECONDS."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=FINISH_SECONDS)

    async def _adopt(self, attempts: list[Adopted], ended: frozenset[str], *, kill_others: bool) -> None:
        """Go on with the attempts that have an actor, and end the actors of attempts that have ended, and of none."""
        import ray

        wanted = {attempt.token: attempt for attempt in attempts}
        found, ending = [], []
        groups = await asyncio.to_thread(list_groups)
        for name in await asyncio.to_thread(ray.util.list_named_actors):
            try:
                actor = await asyncio.to_thread(ray.get_actor, name)
            except ValueError:
                continue
            if name in wanted:
                attempt = wanted[name]
                if (earlier := self._followers.get(name)) is not None:
                    earlier.cancel()
                self._followers[name] = follower = self._follower(
                    name, attempt.staging, attempt.received, has_group=name in groups
                )
                follower.adopt(actor)
                found.append(name)
            elif name in ended or (kill_others and NAME_SEPARATOR not in name):  # sessions are not the leader's
                self._spawn(self._end(name, close_actor(actor)))
                ending.append(name)
        unused = (groups if kill_others else groups & (wanted.keys() | ended)) - {*found}
        await asyncio.to_thread(remove_groups, unused)
        self.emit(Found(found, ending))

    def _follower(self, token: str, staging: str, received: int, *, has_group: bool) -> Follower:
        kind = ReplicaFollower if has_group else Follower
        return kind(token, staging, received, self._nodes, self.emit)

    def _receive_socket(self, token: str) -> socket.socket:
        """Return the socket that was sent before the order with this token."""
        assert self._sockets is not None
        name, descriptors, _, _ = socket.recv_fds(self._sockets, len(token) + 1, 1)
        if name != token.encode() or len(descriptors) != 1:
            raise BadMessage("a session came without its socket")
        return socket.socket(fileno=descriptors[0])

    async def _end(self, token: str, work: Awaitable[object]) -> None:
        """Do the work that ends an actor, and tell the server that it is done."""
        await work
        self.emit(Gone(token))

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def serve(orders: socket.socket, terms: Connect, sockets: socket.socket) -> None:
    """Carry out orders until there are no more."""
    reader, writer = await asyncio.open_connection(sock=orders, limit=LINE_BYTES_MAX)
    bridge = Bridge(writer, terms, sockets)
    bridge.emit(Connected())
    while line := await reader.readline():
        await bridge.handle(from_text(line))
    await bridge.finish()


def main(log_format: str, descriptor: str) -> None:
    """Serve the server at the other end of standard input, whose first line names the cluster."""
    for unwanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(unwanted, signal.SIG_IGN)
    configure_log("warning", cast(LogFormat, log_format))
    orders, sockets = socket.socket(fileno=os.dup(0)), socket.socket(fileno=int(descriptor))
    sockets.set_inheritable(False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        with orders.makefile("rb", buffering=0) as lines:
            terms = from_text(lines.readline())
        connect(terms)
        asyncio.run(serve(orders, terms, sockets))
    except RayUnusable as error:
        orders.sendall(to_text(Refused(error.detail)))
    except (ConnectionError, BadMessage):
        _logger.debug("the server is gone", exc_info=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)
