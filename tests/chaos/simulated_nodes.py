"""The nodes of a simulated Ray cluster, their actors, and each server's bridge to them."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.domain.messages import (
    Assignment,
    CheckpointWritten,
    Control,
    Finished,
    Heartbeat,
    Message,
    Started,
    decode,
    encode,
)
from app.runner.cluster.protocol import (
    Acknowledge,
    Adopt,
    Connected,
    Ended,
    Event,
    Found,
    Kill,
    Order,
    Release,
    Reported,
    Send,
    Start,
)
from tests.chaos.invariants import Broken
from tests.chaos.simulated_fits import SimulatedAttempt


class Actor(SimulatedAttempt):
    """An attempt on a node. It numbers what it reports, and keeps it until it is acknowledged, as a real actor does."""

    def __init__(self, order: Start, node: int) -> None:
        """Begin an attempt on a node."""
        assignment = decode(order.assignment.encode())
        assert isinstance(assignment, Assignment)
        super().__init__(assignment.fit_id, assignment.attempt, assignment.resume_from)
        self.node = node
        self.kept: list[tuple[int, Message | Ended]] = []
        self.files: dict[str, bytes] = {}
        self._order = order
        self._last = 0
        self.report(Started(1))

    def report(self, message: Message) -> None:
        """Number a report, and keep it; the last one is followed by the end of the actor."""
        self._keep(message)
        if isinstance(message, Finished):
            self._keep(Ended(self._order.token, "finished", "it has ended"))

    def write(self, content: bytes) -> str:
        """Keep a checkpoint on the node."""
        path = f"{self._order.staging}/{self.attempt}-{self.step}-{self._last}"
        self.files[path] = content
        return path

    def _keep(self, message: Message | Ended) -> None:
        self._last += 1
        self.kept.append((self._last, message))


class Nodes:
    """All nodes, of which some are lost at times, and the actors on them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.alive = [*range(count)]
        self.actors: dict[str, Actor] = {}

    def place(self, order: Start, chance: random.Random) -> None:
        """Make the actor of an attempt on one of the nodes."""
        if order.token in self.actors:
            raise Broken("two actors have one token")
        self.actors[order.token] = Actor(order, chance.choice(self.alive))

    def lose(self, chance: random.Random) -> None:
        """Lose a node with its actors; another one joins."""
        lost = chance.choice(self.alive)
        self.alive.remove(lost)
        self._count += 1
        self.alive.append(self._count)
        self.actors = {token: actor for token, actor in self.actors.items() if actor.node != lost}


class SimulatedBridge:
    """The bridge process of one server: it goes on while its server hangs, and ends with it."""

    def __init__(self, nodes: Nodes, emit: Callable[[Event | None], None], chance: random.Random) -> None:
        self._nodes = nodes
        self._emit = emit
        self._chance = chance
        self._starts: list[Start] = []
        self._followed: dict[str, tuple[str, int]] = {}
        """By token: the folder for files, and the last report that was passed on."""
        emit(Connected())

    def send(self, order: Order) -> None:
        """Carry an order out; a new actor is made some time later."""
        match order:
            case Start():
                self._starts.append(order)
            case Adopt(attempts, is_all, ended):
                self._adopt(attempts, ended, kill_others=is_all)
            case Send(token, message, _):
                self._control(token, decode(message.encode()))
            case Kill(token):
                self._end(token)
                self._emit(Ended(token, "killed", "it was killed", asked=True))
            case Acknowledge(token, None):
                self._end(token)
            case Acknowledge(token, int(number)):
                if (actor := self._nodes.actors.get(token)) is not None:
                    actor.kept = [each for each in actor.kept if each[0] > number]
            case Release(token):
                self._forget(token)

    def close(self) -> None:
        """End it; actors go on."""
        self._starts.clear()
        self._followed.clear()

    def create_actors(self) -> None:
        """Make the actors that were ordered."""
        for order in self._starts:
            self._nodes.place(order, self._chance)
            self._followed[order.token] = order.staging, 0
        self._starts.clear()

    def deliver(self, token: str, count: int) -> None:
        """Pass on the next reports of an actor, or its loss."""
        staging, passed = self._followed[token]
        actor = self._nodes.actors.get(token)
        if actor is None:
            self._emit(Ended(token, "node_lost", "its node was lost"))
            return
        if not actor.has_ended:
            self._emit(Reported(token, 0, encode(Heartbeat()).decode()))
        for number, message in [each for each in actor.kept if each[0] > passed][:count]:
            self._pass_on(token, staging, actor, number, message)
            self._followed[token] = staging, number

    def repeat(self, token: str) -> None:
        """Pass a report on again, as a follower does that was replaced."""
        staging, passed = self._followed[token]
        actor = self._nodes.actors.get(token)
        for number, message in [] if actor is None else actor.kept[:1]:
            if actor is not None and number <= passed and not isinstance(message, Ended):
                self._pass_on(token, staging, actor, number, message)

    @property
    def followed(self) -> list[str]:
        """The tokens of the attempts that reports are passed on of."""
        return [*self._followed]

    def _pass_on(self, token: str, staging: str, actor: Actor, number: int, message: Message | Ended) -> None:
        if isinstance(message, Ended):
            self._emit(message)
            return
        if isinstance(message, CheckpointWritten):
            path = Path(staging) / Path(message.path).name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(actor.files[message.path])
            message = replace(message, path=str(path))
        self._emit(Reported(token, number, encode(message).decode()))

    def _adopt(self, attempts: list[dict[str, Any]], ended: list[str], *, kill_others: bool) -> None:
        wanted = {each["token"]: each for each in attempts}
        found = [token for token in self._nodes.actors if token in wanted]
        for token in found:
            self._followed[token] = wanted[token]["staging"], wanted[token]["received"]
        for token in self._nodes.actors.keys() - wanted.keys():
            if kill_others or token in ended:
                del self._nodes.actors[token]
        self._emit(Found(found))

    def _control(self, token: str, message: object) -> None:
        actor = self._nodes.actors.get(token)
        if actor is not None and isinstance(message, Control):
            actor.request = message.kind

    def _end(self, token: str) -> None:
        self._forget(token)
        self._nodes.actors.pop(token, None)

    def _forget(self, token: str) -> None:
        self._starts = [order for order in self._starts if order.token != token]
        self._followed.pop(token, None)
