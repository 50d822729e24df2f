"""One attempt at a session as the bridge sees it: its files are copied both ways, and its frames are passed on."""

import asyncio
import json
import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from app.domain.messages import Heartbeat, decode
from app.runner.cluster.actor_end import close_actor, kill_actor
from app.runner.cluster.follower import KILLED_DETAIL, RETRY_SECONDS, Follower, Nodes
from app.runner.cluster.host import EXIT, REPORT
from app.runner.cluster.protocol import NAME_SEPARATOR, Ended, Event, Start, StartSession, from_text
from app.runner.cluster.session_files import CHUNK_BYTES, FileChange, MirroredFolder, restorable_files
from app.runner.cluster.session_host import CHANGE, SessionHost
from app.system.durable import Durable

EXCHANGE_SECONDS = 2.0
"""How long an actor waits for something to hand over before it says that there is nothing."""

PLACED_SECONDS = 30.0
"""After this time without a node the steps that wait are refused."""

CLAIM_SECONDS = 0.5
"""Interval in which it is checked whether another server goes on with the session."""

PUSHED_BYTES = 1 << 20

_logger = logging.getLogger(__name__)


class SessionFollower(Follower):
    """The actor of one attempt at a session. All in the event loop of the bridge."""

    what = "session"

    def __init__(self, order: StartSession, frames: socket.socket, nodes: Nodes, emit: Callable[[Event], None]) -> None:
        """Pass on what comes from `frames` and goes there; the files of the session are in `order.staging`."""
        super().__init__(order.token, order.staging, 0, nodes, emit)
        self._order = order
        self._frames = frames
        self._frames.setblocking(False)
        self._folder: MirroredFolder | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def cancel(self) -> None:
        """Follow no longer."""
        super().cancel()
        self._release_folder()

    def release(self) -> None:
        """Do nothing: a session does not change its server while that is alive."""

    async def kill(self) -> None:
        """End the actor, if there is one by now."""
        if self._actor is None:
            self._killed = True
            self._tell_end(Ended(self._token, "killed", KILLED_DETAIL, asked=True))
        else:
            await super().kill()

    async def _create_and_follow(self, order: Start, terms: dict[str, Any]) -> None:
        try:
            if await self._lock_folder():
                self._tasks.append(asyncio.create_task(self._yield_to_later()))
                await self._end_earlier()
                await super()._create_and_follow(order, terms)
        finally:
            self._release_folder()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._frames.close()

    async def _lock_folder(self) -> bool:
        """Wait until no earlier attempt writes to the session's folder; False if there is no such folder any more."""
        try:
            self._folder = folder = MirroredFolder(self._staging, self._order.attempt, Durable())
        except FileNotFoundError:
            self._tell_end(Ended(self._token, "killed", "the session has ended", asked=True))
            return False
        while not self._ended.is_set():
            if await asyncio.to_thread(folder.try_lock):
                return True
            self._report(Heartbeat())
            await asyncio.sleep(CLAIM_SECONDS)
        return False

    async def _yield_to_later(self) -> None:
        """Stop writing once another server has begun a later attempt, which ends the actor of this one."""
        folder = self._folder
        assert folder is not None
        while not await asyncio.to_thread(lambda: folder.is_claimed_later):
            await asyncio.sleep(CLAIM_SECONDS)
        self._tell_end(Ended(self._token, "killed", "the session goes on in another process"))
        self._killed = True
        if self._actor is not None:
            self.cancel()

    async def _end_earlier(self) -> None:
        """End actors of earlier attempts, of which a server that is gone may have left one."""
        import ray

        session = f"{self._order.session_id}{NAME_SEPARATOR}"
        for name in await asyncio.to_thread(ray.util.list_named_actors):
            if name.startswith(session):
                with suppress(ValueError):  # it has ended by now
                    await close_actor(await asyncio.to_thread(ray.get_actor, name))

    def _actor_type(self) -> type[SessionHost]:
        from app.runner.cluster.actor import SessionActor

        return SessionActor

    def _actor_name(self, order: Start) -> str:  # noqa: ARG002 (it is that of `self._order`)
        return self._order.actor_name

    async def _wait_for_node(self, order: Start | None) -> tuple[str, str | None] | None:
        """Return as `Follower` does; the attempt ends if no node has room for it in time."""
        try:
            return await asyncio.wait_for(super()._wait_for_node(order), PLACED_SECONDS)
        except TimeoutError:
            needed = f"{self._order.cpus} CPUs and {self._order.memory_bytes} bytes of memory"
            detail = f"no Ray node has {needed} free for the session; close another one, or add a node"
            self._tell_end(Ended(self._token, "no_node", detail + self._nodes.explain()))
            return None

    async def _supply(self) -> None:
        """Copy the session's files to the node, and have its process begin."""
        for name in restorable_files(self._staging):
            await self._put(name)
        await _result(self._actor.begin.remote())
        self._tasks.append(asyncio.create_task(self._push_frames()))

    async def _put(self, name: str) -> None:
        with (self._staging / name).open("rb") as file:
            offset = 0
            while True:
                part = await asyncio.to_thread(file.read, CHUNK_BYTES)
                await _result(self._actor.put.remote(name, offset, part))
                self._report(Heartbeat())
                offset += len(part)
                if len(part) < CHUNK_BYTES:
                    return

    async def _push_frames(self) -> None:
        """Pass on what clients send, in order: the next bytes once the actor has those before."""
        loop, number = asyncio.get_running_loop(), 0
        while data := await loop.sock_recv(self._frames, PUSHED_BYTES):
            number += 1
            await self._push(number, data)

    async def _push(self, number: int, data: bytes) -> None:
        from ray.exceptions import ActorUnavailableError, RayActorError

        while True:
            try:
                await _result(self._actor.push.remote(number, data))
            except ActorUnavailableError:
                await asyncio.sleep(RETRY_SECONDS)
            except RayActorError:
                await asyncio.Event().wait()  # its end is reported by `_follow_placed`
            else:
                return

    async def _pass_on(self) -> bool:
        """Store the next changes, and pass the next messages and frames on; True if the process has exited."""
        is_alive, kept = await _result(self._actor.exchange.remote(self._passed_on, EXCHANGE_SECONDS))
        self._heard_at = time.monotonic()
        if is_alive or kept:
            self._report(Heartbeat())
        for number, kind, text, data in kept:
            if self._ended.is_set():
                return True
            if kind == EXIT:
                self._tell_end(from_text(text.encode()))
                return True
            if kind == REPORT:
                self._report(decode(text.encode()))
            elif kind != CHANGE:
                await asyncio.get_running_loop().sock_sendall(self._frames, data)
            elif not await self._store(FileChange(**json.loads(text)), data):
                return True
            self._passed_on = number
        return False

    async def _store(self, change: FileChange, data: bytes) -> bool:
        """Make a change in the server's folder; False if that fails, which ends the attempt."""
        assert self._folder is not None
        try:
            await asyncio.to_thread(self._folder.apply, change, data)
        except FileNotFoundError:
            self._tell_end(Ended(self._token, "killed", "the folder of the session is gone", asked=True))
        except OSError as error:
            _logger.exception("a step of session %s cannot be stored", self._order.session_id)
            detail = f"a step cannot be stored on the server's disk ({error.strerror or error})"
            self._tell_end(Ended(self._token, "not_stored", detail))
        else:
            return True
        await kill_actor(self._actor)
        return False

    def _tell_end(self, ended: Ended) -> None:
        self._release_folder()
        super()._tell_end(ended)

    def _release_folder(self) -> None:
        """Write to the session's folder no more: another attempt may."""
        if self._folder is not None:
            self._folder.close()


async def _result(reference: Any) -> Any:
    return await reference
