"""The nodes of a simulated Ray cluster, their actors, and each server's bridge to them.

An actor numbers what it reports, and keeps it until it is acknowledged, as a real one does.
"""

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.domain.messages import (
    Assignment,
    CheckpointWritten,
    Control,
    Finished,
    Heartbeat,
    Message,
    MetricRows,
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
from tests.chaos.simulation import row_of

_OUTCOMES: dict[str, Any] = {"cancel": "cancelled", "drain": "drained"}


@dataclass(eq=False)
class Actor:
    """An attempt on a node: computes from the checkpoint that it was given, and reports what it has done."""

    token: str
    fit_id: str
    attempt: int
    node: int
    step: int
    steps: int
    staging: str
    kept: list[tuple[int, Message | Ended]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    last: int = 0
    wanted: str | None = None
    over: bool = False

    @classmethod
    def of(cls, order: Start, node: int) -> "Actor":
        """Begin an attempt on a node."""
        assignment = decode(order.assignment.encode())
        assert isinstance(assignment, Assignment)
        path = assignment.resume_from
        found = json.loads(Path(path).read_bytes()) if path else {"step": 0, "fit": assignment.fit_id}
        if found["fit"] != assignment.fit_id:
            raise Broken(f"{assignment.fit_id} goes on from a checkpoint of {found['fit']}")
        steps = assignment.request["steps"]
        made = cls(order.token, assignment.fit_id, assignment.attempt, node, found["step"], steps, order.staging)
        made.report(Started(1))
        return made

    def report(self, message: Message | Ended) -> None:
        """Number a report, and keep it."""
        self.last += 1
        self.kept.append((self.last, message))

    def work(self) -> None:
        """Do the next thing: a step, now and then a checkpoint, in the end a verdict."""
        if self.over:
            return
        if self.wanted is not None or self.step == self.steps:
            self._save()
            self.report(Finished("succeeded" if self.step == self.steps else _OUTCOMES[str(self.wanted)]))
            self.report(Ended(self.token, "finished", "it has ended"))
            self.over = True
            return
        self.step += 1
        self.report(MetricRows([row_of(self.fit_id, self.step)], self.step, 1, {}, None))
        if self.step % 2 == 0:
            self._save()

    def _save(self) -> None:
        content = json.dumps({"fit": self.fit_id, "step": self.step}).encode()
        path = f"{self.staging}/{self.attempt}-{self.step}-{self.last}"
        self.files[path] = content
        digest = hashlib.sha256(content).hexdigest()
        self.report(CheckpointWritten(path, self.step, 1, self.step, {}, digest, len(content), is_best=False))


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
        self.actors[order.token] = Actor.of(order, chance.choice(self.alive))

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
            case Adopt(attempts, is_all):
                self._adopt(attempts, kill_others=is_all)
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
        if not actor.over:
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

    def _adopt(self, attempts: list[dict[str, Any]], *, kill_others: bool) -> None:
        wanted = {each["token"]: each for each in attempts}
        found = [token for token in self._nodes.actors if token in wanted]
        for token in found:
            self._followed[token] = wanted[token]["staging"], wanted[token]["received"]
        if kill_others:
            for token in self._nodes.actors.keys() - wanted.keys():
                del self._nodes.actors[token]
        self._emit(Found(found))

    def _control(self, token: str, message: object) -> None:
        actor = self._nodes.actors.get(token)
        if actor is not None and isinstance(message, Control):
            actor.wanted = message.kind

    def _end(self, token: str) -> None:
        self._forget(token)
        self._nodes.actors.pop(token, None)

    def _forget(self, token: str) -> None:
        self._starts = [order for order in self._starts if order.token != token]
        self._followed.pop(token, None)
