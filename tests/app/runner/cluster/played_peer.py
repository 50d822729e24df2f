"""The actor of another rank, as tests play it."""

import threading
from typing import Any

from app.domain.messages import Message, encode
from app.runner.cluster.host import EXIT, REPORT
from app.runner.cluster.peers import PeerDeadError, PeerSilentError
from app.runner.cluster.protocol import Ended, to_text


class PlayedPeer:
    """The actor of another rank: `say` and `end` give it something to report."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.unusable: str | None = None
        self.falls_silent_after: int | None = None
        """The number of its last report, after which it answers nothing; None if it does."""
        self.is_lost = False
        """Whether its node is not reached."""
        self.death: str | None = None
        """What Ray says of its death, None while it lives."""
        self._kept: list[tuple[int, str, str]] = []

    def say(self, message: Message) -> None:
        self._kept.append((len(self._kept) + 1, REPORT, encode(message).decode()))

    def end(self, reason: Any, detail: str) -> None:
        self._kept.append((len(self._kept) + 1, EXIT, to_text(Ended("token", reason, detail)).decode()))

    def place(self) -> tuple[str, str | None]:
        return f"node-{self.rank}", self.unusable

    def receive(self, _acknowledged: int, after: int, _wait: float) -> tuple[bool, list[tuple[int, str, str]]]:
        threading.Event().wait(0.001)  # as a call to another node would
        if self.death is not None:
            raise PeerDeadError(self.death)
        if after == self.falls_silent_after:
            raise PeerSilentError
        return True, self._kept[after:]

    def is_node_lost(self, node: str) -> bool:
        assert node == f"node-{self.rank}"
        return self.is_lost
