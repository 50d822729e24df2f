"""The nodes of a simulated Ray cluster and their actors, which go on also where nothing reaches them."""

import random
from collections.abc import Iterable

from app.domain.messages import Assignment, Finished, Message, Started, decode
from app.runner.cluster.protocol import Ended, Start
from tests.chaos.invariants import Broken
from tests.chaos.simulated_fits import SimulatedAttempt


class Actor(SimulatedAttempt):
    """An attempt on a node. It numbers what it reports, and keeps it until it is acknowledged, as a real actor does."""

    def __init__(self, order: Start, node: int) -> None:
        """Begin an attempt on a node."""
        assignment = decode(order.assignment.encode())
        assert isinstance(assignment, Assignment)
        super().__init__(assignment.fit_id, assignment.attempt, assignment.resume_from)
        self.token = order.token
        self.node = node
        self.servers: set[str] = set()
        """The servers that have ordered, followed or killed it."""
        self.kept: list[tuple[int, Message | Ended]] = []
        self.files: dict[str, bytes] = {}
        self._staging = order.staging
        self._last = 0
        self.report(Started(1))

    def report(self, message: Message) -> None:
        """Number a report, and keep it; the last one is followed by the end of the actor."""
        self._keep(message)
        if isinstance(message, Finished):
            self._keep(Ended(self.token, "finished", "it has ended"))

    def write(self, content: bytes) -> str:
        """Keep a checkpoint on the node."""
        path = f"{self._staging}/{self.attempt}-{self.step}-{self._last}"
        self.files[path] = content
        return path

    def _keep(self, message: Message | Ended) -> None:
        self._last += 1
        self.kept.append((self._last, message))


class Nodes:
    """All nodes, of which some are lost or not reached at times, and the actors on them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._alive = [*range(count)]
        self._unreached: set[int] = set()
        self._killed: set[str] = set()
        self.actors: dict[str, Actor] = {}
        """All that run, by token, those that were killed on nodes that are not reached too."""

    def place(self, order: Start, server: str, chance: random.Random) -> None:
        """Make the actor of an attempt, ordered by a server, on one of the nodes that are reached."""
        if order.token in self.actors:
            raise Broken("two actors have one token")
        actor = self.actors[order.token] = Actor(order, chance.choice(self._reached))
        actor.servers.add(server)

    @property
    def _reached(self) -> list[int]:
        return [node for node in self._alive if node not in self._unreached]

    @property
    def named(self) -> list[str]:
        """The tokens of the actors that Ray has by name: of all that were not killed."""
        return [token for token in self.actors if token not in self._killed]

    def find(self, token: str) -> Actor | None:
        """Return an actor by its name, None if there is none any more."""
        return None if token in self._killed else self.actors.get(token)

    def is_reached(self, actor: Actor) -> bool:
        """Return whether an actor answers."""
        return actor.node not in self._unreached

    def kill(self, token: str) -> None:
        """Have Ray end an actor: it has no name from now on, and ends some time after its node is reached."""
        if token in self.actors:
            self._killed.add(token)

    def end_killed(self, chance: random.Random) -> None:
        """Have some actors end that were killed."""
        for token in sorted(self._killed):
            if self.is_reached(self.actors[token]) and chance.random() < 0.5:
                self._remove([token])

    def _remove(self, tokens: Iterable[str]) -> None:
        for token in [*tokens]:
            del self.actors[token]
            self._killed.discard(token)

    def cut(self, chance: random.Random) -> bool:
        """Have a node be reached no longer, with an actor if one has any; its actors go on. False if too few are."""
        if len(self._reached) < 2:
            return False
        used = {actor.node for actor in self.actors.values() if self.is_reached(actor)}
        self._unreached.add(chance.choice(sorted(used) or self._reached))
        return True

    def heal(self, chance: random.Random) -> None:
        """Have a node be reached again."""
        if self._unreached:
            self._unreached.remove(chance.choice(sorted(self._unreached)))

    def heal_all(self) -> None:
        """Have all nodes be reached again."""
        self._unreached.clear()

    def lose(self, chance: random.Random) -> None:
        """Lose a node with its actors; another one joins."""
        lost = chance.choice(self._alive)
        self._alive.remove(lost)
        self._unreached.discard(lost)
        self._count += 1
        self._alive.append(self._count)
        self._remove(token for token, actor in self.actors.items() if actor.node == lost)
