"""Each server's bridge to the nodes of a simulated Ray cluster."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.domain.messages import CheckpointWritten, Control, Heartbeat, Message, decode, encode
from app.runner.cluster.actor_end import CLOSE_SECONDS
from app.runner.cluster.protocol import (
    Acknowledge,
    Adopt,
    Connected,
    Ended,
    Event,
    Found,
    Gone,
    Kill,
    Order,
    Release,
    Reported,
    Send,
    Start,
)
from tests.chaos.simulated_database import TrueTime
from tests.chaos.simulated_nodes import Actor, Nodes


class SimulatedBridge:
    """The bridge process of one server: it goes on while its server hangs, and ends with it, or before."""

    def __init__(
        self,
        server: str,
        nodes: Nodes,
        emit: Callable[[Event | None], None],
        time: TrueTime,
        chance: random.Random,
    ) -> None:
        self._server = server
        self._nodes = nodes
        self._time = time
        self._emit = emit
        self._chance = chance
        self._is_closed = False
        self._starts: list[Start] = []
        self._ending: dict[str, tuple[float, Ended | None]] = {}
        """By token: when an actor is killed that is to end, and what is emitted then."""
        self._followed: dict[str, tuple[str, int]] = {}
        """By token: the folder for files, and the last report that was passed on."""
        emit(Connected())

    def send(self, order: Order) -> None:
        """Carry an order out, unless the process has ended; actors are made and killed some time later."""
        match order:
            case _ if self._is_closed:
                pass
            case Start():
                self._starts.append(order)
            case Adopt(attempts, is_all, ended):
                self._adopt(attempts, ended, kill_others=is_all)
            case Send(token, message, _):
                self._control(token, decode(message.encode()))
            case Kill(token):
                self._kill(token)
            case Acknowledge(token, None):
                self._end(token)
            case Acknowledge(token, int(number)):
                if (actor := self._answering(token)) is not None:
                    actor.kept = [each for each in actor.kept if each[0] > number]
            case Release(token):
                self._forget(token)

    def close(self) -> None:
        """End it; actors go on, also those that it was to end."""
        self._is_closed = True
        self._starts.clear()
        self._ending.clear()
        self._followed.clear()

    def fail(self) -> None:
        """End it, which its server notices some time later."""
        if not self._is_closed:
            self.close()
            self._emit(None)

    def create_actors(self) -> None:
        """Make the actors that were ordered."""
        for order in self._starts:
            self._nodes.place(order, self._server, self._chance)
            self._followed[order.token] = order.staging, 0
        self._starts.clear()

    def end_actors(self) -> None:
        """Have Ray kill the actors that are to end, after it was waited long enough for an answer of theirs."""
        for token, (due_at, event) in [*self._ending.items()]:
            if due_at <= self._time.elapsed:
                del self._ending[token]
                self._nodes.kill(token)
                if event is not None:
                    self._emit(event)
                self._emit(Gone(token))

    def deliver(self, token: str, count: int) -> None:
        """Pass on the next reports of an actor, or its loss."""
        staging, passed = self._followed[token]
        actor = self._nodes.find(token)
        if actor is None:
            self._emit(Ended(token, "node_lost", "its node was lost"))
            return
        if not self._nodes.is_reached(actor):
            return
        if not actor.has_ended:
            self._emit(Reported(token, 0, encode(Heartbeat()).decode()))
        for number, message in [each for each in actor.kept if each[0] > passed][:count]:
            self._pass_on(token, staging, actor, number, message)
            self._followed[token] = staging, number

    def repeat(self, token: str) -> None:
        """Pass a report on again, as a follower does that was replaced."""
        staging, passed = self._followed[token]
        actor = self._answering(token)
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
        found = [token for token in self._nodes.named if token in wanted]
        for token in found:
            self._followed[token] = wanted[token]["staging"], wanted[token]["received"]
            self._nodes.actors[token].servers.add(self._server)
        ending = [token for token in self._nodes.named if token not in wanted and (kill_others or token in ended)]
        for token in ending:
            self._end(token)
        self._emit(Found(found, ending))

    def _answering(self, token: str) -> Actor | None:
        """Return an actor that answers."""
        actor = self._nodes.find(token)
        return actor if actor is not None and self._nodes.is_reached(actor) else None

    def _control(self, token: str, message: object) -> None:
        actor = self._answering(token)
        if actor is not None and isinstance(message, Control):
            actor.request = message.kind

    def _kill(self, token: str) -> None:
        """End an actor: one that does not answer is killed some time later, and counts as lost then."""
        if self._nodes.find(token) is not None and self._answering(token) is None:
            self._end(token, Ended(token, "node_lost", "its node does not answer", asked=True))
        else:
            self._forget(token)
            self._nodes.kill(token)
            self._emit(Ended(token, "killed", "it was killed", asked=True))
            self._emit(Gone(token))

    def _end(self, token: str, event: Ended | None = None) -> None:
        self._forget(token)
        if (actor := self._nodes.find(token)) is not None:
            self._ending[token] = self._time.elapsed + CLOSE_SECONDS, event
            actor.servers.add(self._server)
        else:
            self._emit(Gone(token))

    def _forget(self, token: str) -> None:
        self._starts = [order for order in self._starts if order.token != token]
        self._followed.pop(token, None)
