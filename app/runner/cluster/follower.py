"""One attempt on the side of the bridge: its actor is created, followed report by report, and killed."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.domain.messages import About, CheckpointWritten, GradientWritten, Heartbeat, Log, Message, decode, encode
from app.runner.cluster.actor_end import close_actor, kill_actor
from app.runner.cluster.connection import is_node_lost
from app.runner.cluster.host import EXIT, AttemptHost
from app.runner.cluster.outbox import file_of
from app.runner.cluster.protocol import Ended, Event, Reported, Start, from_text
from app.system.durable import Durable

POLL_SECONDS = 2.0
"""How long an actor waits for reports before it says that there are none."""

SILENT_SECONDS = 1.25 * POLL_SECONDS
"""An actor that has not answered for so long when it is killed is not reached."""

END_SECONDS = 5.0
"""How long to wait until an actor that was killed is known to be dead."""

WINDOW = 2048
"""Reports that are handed to the server before it has stored any of them."""

CHUNK_BYTES = 4 * 1024 * 1024
PLACING_SECONDS = 10.0
"""After this time the log of a fit says that it waits for a node."""

LOST = "it was lost"
"""Why nodes are avoided that are not reached any more."""

KILLED_DETAIL = "the process was killed by the server"
RAY_KILLED_FOR_MEMORY = "killed due to the node running low on memory"
"""What Ray says of an actor that it has killed itself. Of any that was killed it says that memory may be the cause."""

RETRY_SECONDS = 1.0
AVOID_SECONDS = 90.0
"""How long no attempt is started on a node that was lost; by then Ray has noticed, or it was only slow."""

_logger = logging.getLogger(__name__)


class Nodes:
    """The nodes on which no attempt is started for now."""

    def __init__(self) -> None:
        self._avoided: dict[str, tuple[float, str]] = {}

    def avoid(self, node_id: str, reason: str) -> None:
        """Start no attempt on a node for AVOID_SECONDS."""
        self._avoided[node_id] = time.monotonic() + AVOID_SECONDS, reason

    def selector(self) -> dict[str, str]:
        """Return what Ray is to require of the labels of a node."""
        avoided = self._current()
        return {"ray.io/node-id": f"!in({','.join(avoided)})"} if avoided else {}

    def explain(self) -> str:
        """Return which nodes are not used and why, in parentheses; nothing if there are none."""
        reasons = [f"node {node[:8]}: {reason}" for node, reason in self._current().items()]
        return f" (not used now: {'; '.join(reasons)})" if reasons else ""

    def _current(self) -> dict[str, str]:
        now = time.monotonic()
        self._avoided = {node: (until, reason) for node, (until, reason) in self._avoided.items() if until > now}
        return {node: reason for node, (_, reason) in self._avoided.items()}


class Follower:
    """The actor of one attempt. All in the event loop of the bridge."""

    what = "fit"
    """What the attempt is made at."""

    def __init__(self, token: str, staging: str, received: int, nodes: Nodes, emit: Callable[[Event], None]) -> None:
        """Reports after `received` go to `emit`; the files that they are about are copied to `staging` first."""
        self._token = token
        self._staging = Path(staging)
        self._acknowledged = self._passed_on = received
        self._nodes = nodes
        self._emit = emit
        self._actor: Any = None
        self._node: str | None = None
        self._heard_at = time.monotonic()
        self._selector: dict[str, str] = {}
        self._killed = False
        self._is_silent = False
        self._ended = asyncio.Event()
        self._stored = asyncio.Event()
        self._durable = Durable()
        self._task: asyncio.Task[None] | None = None

    def start(self, order: Start, terms: dict[str, Any]) -> None:
        """Create the actor, and follow it."""
        self._task = asyncio.create_task(self._guarded(self._create_and_follow(order, terms)))

    def adopt(self, actor: Any) -> None:
        """Follow an actor that an earlier bridge has created."""
        self._actor = actor
        self._task = asyncio.create_task(self._guarded(self._follow_placed(None)))

    async def send(self, message: str, grace: float | None) -> None:
        """Pass a control message on. It is lost if the actor is not reached: its heartbeats will be missing."""
        while self._actor is None and not self._ended.is_set():
            await asyncio.sleep(RETRY_SECONDS)
        with suppress(Exception):
            await self._actor.send.remote(message, grace)

    async def kill(self) -> None:
        """End the actor, which deletes its files if it is reached; its exit is always reported."""
        self._killed = True
        self._is_silent = time.monotonic() - self._heard_at > SILENT_SECONDS
        if self._actor is not None and self._is_silent:
            await kill_actor(self._actor)
        elif self._actor is not None and await close_actor(self._actor):
            self._tell_end(Ended(self._token, "killed", KILLED_DETAIL, asked=True))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), END_SECONDS)
        if not self._ended.is_set():
            self._is_silent = True
            await self._end()

    def acknowledge(self, number: int) -> None:
        """Let the actor forget the reports up to a number."""
        self._acknowledged = max(self._acknowledged, number)
        self._stored.set()

    def cancel(self) -> None:
        """Follow no longer; the actor goes on."""
        if self._task is not None:
            self._task.cancel()
        self._ended.set()

    def release(self) -> None:
        """Follow no longer; the actor goes on if another server can have found it by now."""
        if self._actor is not None:
            self.cancel()
        self._killed = True
        self._ended.set()

    async def forget(self) -> None:
        """End the actor, whose attempt has ended; one that is being made is waited for, and killed."""
        self._killed = True
        self._ended.set()
        if self._actor is not None:
            self.cancel()
            await close_actor(self._actor)
        elif self._task is not None:
            await asyncio.wait([self._task])

    async def _guarded(self, work: Any) -> None:
        try:
            await work
        except Exception as error:
            _logger.exception("attempt %s cannot be followed", self._token)
            self._tell_end(Ended(self._token, "error", f"it cannot be followed ({type(error).__name__})"))

    async def _create_and_follow(self, order: Start, terms: dict[str, Any]) -> None:
        while not self._ended.is_set():
            try:
                self._actor = await asyncio.to_thread(self._create, order, terms)
            except ValueError:  # the name is taken until the actor of before is dead
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if self._killed:
                await kill_actor(self._actor)
                return
            if await self._follow_placed(order):
                return

    def _create(self, order: Start, terms: dict[str, Any]) -> Any:
        import ray

        actor: Any = ray.remote(self._actor_type())
        self._selector = self._nodes.selector()
        return actor.options(
            name=self._actor_name(order),
            lifetime="detached",
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=4,
            **self._placement(order),
        ).remote(order.assignment, terms)

    def _actor_type(self) -> type[AttemptHost]:
        from app.runner.cluster.actor import AttemptActor

        return AttemptActor

    def _placement(self, order: Start) -> dict[str, Any]:
        """Return the options of the actor that say where it runs, and what it takes there."""
        return {**resources_of(order), "label_selector": self._selector}

    def _actor_name(self, order: Start) -> str:
        return order.token

    async def _supply(self) -> None:
        """Give a new actor what it needs to begin."""

    async def _follow_placed(self, order: Start | None) -> bool:
        """Follow the actor to its end; False if its node must not run the attempt, and another one may."""
        from ray.exceptions import ActorUnavailableError, RayActorError

        try:
            placed = await self._wait_for_node(order)
            if placed is None:
                await kill_actor(self._actor)
                return False
            self._node, unusable = node, _ = placed
            if unusable is not None and order is not None:
                self._nodes.avoid(node, unusable)
                self._report(
                    Log("warning", f"the {self.what} does not run on Ray node {node[:8]}: {unusable}", "node_differs")
                )
                await kill_actor(self._actor)
                return False
            if order is not None:
                await self._supply()
            while True:
                try:
                    if await self._pass_on():
                        return True
                except ActorUnavailableError:
                    await asyncio.sleep(RETRY_SECONDS)
        except RayActorError as error:
            await self._end(error)
        return True

    async def _wait_for_node(self, order: Start | None) -> tuple[str, str | None] | None:
        """Return the node of the actor, and why it is of no use; None if other nodes may be chosen by now."""
        placed = asyncio.ensure_future(_result(self._actor.place.remote()))
        try:
            return await self._wait_until_placed(placed, order)
        finally:
            placed.cancel()  # an error of an actor that is waited for no longer, as in a session that is refused

    async def _wait_until_placed(
        self, placed: asyncio.Future[tuple[str, str | None]], order: Start | None
    ) -> tuple[str, str | None] | None:
        since, is_logged = time.monotonic(), False
        while True:
            done, _ = await asyncio.wait([placed], timeout=POLL_SECONDS)
            if done:
                self._heard_at = time.monotonic()
                return placed.result()
            if order is None:
                continue  # it runs already: no answer means that its node is not reached
            self._heard_at = time.monotonic()
            self._report(Heartbeat())
            if self._selector != self._nodes.selector():
                return None
            if not is_logged and time.monotonic() - since > PLACING_SECONDS:
                is_logged = True
                self._report(Log("info", f"the {self.what} is waiting for {order.needs}", "waiting_for_node"))

    async def _pass_on(self) -> bool:
        """Pass the next reports on; True if the process has exited."""
        while self._passed_on - self._acknowledged >= WINDOW:
            self._stored.clear()
            await self._stored.wait()
        is_alive, kept = await _result(self._actor.receive.remote(self._acknowledged, self._passed_on, POLL_SECONDS))
        self._heard_at = time.monotonic()
        if is_alive:
            self._report(Heartbeat())
        for number, kind, text in kept:
            if kind == EXIT:
                self._tell_end(from_text(text.encode()))
                return True
            message = decode(text.encode())
            file = file_of(message)
            if file is not None:
                message = _with_path(message, await self._copy(file))
            self._passed_on = number
            self._report(message, number)
        return False

    async def _copy(self, file: Path) -> Path:
        """Copy a file of the attempt to the server's folder, and return it. Waits while there is no room for it."""
        parts = file.parts[file.parts.index(self._token) + 1 :]
        assert parts
        assert ".." not in parts
        target = self._staging.joinpath(*parts)
        is_logged = False
        while True:
            try:
                await self._copy_once(file, target)
            except OSError as error:
                if not is_logged:
                    is_logged = True
                    text = f"the fit is waiting for disk space: its file cannot be copied ({error.strerror})"
                    self._report(Log("warning", text, "storage_full"))
                self._report(Heartbeat())
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return target

    async def _copy_once(self, file: Path, target: Path) -> None:
        from ray.exceptions import RayTaskError

        unfinished = target.with_suffix(".copying")
        await asyncio.to_thread(self._durable.unlink, unfinished)
        await asyncio.to_thread(self._durable.mkdir, target.parent)
        offset = 0
        with self._durable.create(unfinished) as copied:
            while True:
                try:
                    part = await _result(self._actor.read.remote(str(file), offset, CHUNK_BYTES))
                except RayTaskError:
                    _logger.warning("%s is not in the folder of its attempt any more", file)
                    return  # the server finds no file, and says so in the log of the fit
                self._heard_at = time.monotonic()
                if not part:
                    break
                offset += await asyncio.to_thread(copied.write, part)
                self._report(Heartbeat())
            await asyncio.to_thread(copied.sync)
        await asyncio.to_thread(self._durable.rename, unfinished, target)

    def _report(self, message: Message, number: int = 0) -> None:
        if not self._ended.is_set():
            self._emit(Reported(self._token, number, encode(message).decode()))

    async def _end(self, error: Exception | None = None) -> None:
        """Tell that the actor is dead, or not reached any more."""
        lost = self._is_silent
        if not lost and self._node is not None:
            lost = "node has died" in str(error) or await asyncio.to_thread(is_node_lost, self._node)
        if lost and self._node is not None:
            self._nodes.avoid(self._node, LOST)
        if lost:
            detail = f"the Ray node {(self._node or '?')[:8]} was lost; the {self.what} resumes on another one"
            self._tell_end(Ended(self._token, "node_lost", detail, self._killed))
        elif self._killed:
            self._tell_end(Ended(self._token, "killed", KILLED_DETAIL, asked=True))
        elif RAY_KILLED_FOR_MEMORY in str(error):
            self._tell_end(Ended(self._token, "out_of_memory", "Ray killed the process, since memory had run out"))
        else:
            _logger.warning("the actor of attempt %s has died: %s", self._token, error)
            self._tell_end(Ended(self._token, "killed", "the actor of the attempt was killed"))

    def _tell_end(self, ended: Ended) -> None:
        if not self._ended.is_set():
            self._ended.set()
            self._emit(ended)


def resources_of(order: Start) -> dict[str, Any]:
    """Return what an actor takes of its node, as options of Ray."""
    memory = {} if order.memory_bytes is None else {"memory": order.memory_bytes}
    return {"num_cpus": order.cpus, **memory}


async def _result(reference: Any) -> Any:
    return await reference


def _with_path(message: Message, path: Path) -> Message:
    if isinstance(message, About):
        return About(message.fit_id, _with_path(message.message, path))
    assert isinstance(message, CheckpointWritten | GradientWritten)
    return replace(message, path=str(path))
