"""Loops of steps, carried out whatever happens to the processes, and what is left of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.frames import StepReply

from .driver import Lost, Process, SessionHarness, batch

Step = tuple[str, dict[str, Any] | None, dict[str, Any]]


@dataclass
class Loop:
    """A client: sends its steps in order, and those that were not answered again to the next process."""

    harness: SessionHarness
    steps: Sequence[Step]
    ahead: int = 4
    answers: dict[int, tuple[StepReply, bytes]] = field(default_factory=dict)
    saved: list[int] = field(default_factory=list)

    def run(self, process: Process, upto: int | None = None) -> None:
        """Send the steps up to one, some at a time ahead of the answers; Lost if the process is gone."""
        upto = len(self.steps) if upto is None else upto
        sent: dict[int, str] = {}
        for seq in range(1, upto + 1):
            if seq in self.answers:
                continue
            self._send(process, seq, sent)
            if len(sent) > self.ahead:
                self._receive(process, sent)
        while sent:
            self._receive(process, sent)

    def _send(self, process: Process, seq: int, sent: dict[int, str]) -> None:
        verb, arrays, options = self.steps[seq - 1]
        sent[seq] = process.send(verb, arrays, seq=seq, id=f"step{seq}", **options)

    def _receive(self, process: Process, sent: dict[int, str]) -> None:
        seq = min(sent)
        self.answers[seq] = head, _ = process.answer(sent.pop(seq))
        if head.file is not None and seq not in self.saved:
            (self.harness.folder() / head.file).unlink()
            self.saved.append(seq)

    def result(self, process: Process) -> dict[str, bytes]:
        """Return the bits of the session, and all answers."""
        reported = {f"answer {seq}": body for seq, (_, body) in self.answers.items()}
        errors = {f"error {seq}": repr(head.error).encode() for seq, (head, _) in self.answers.items()}
        return {**process.parameters(), **reported, **errors}


def undisturbed(harness: SessionHarness, steps: Sequence[Step]) -> dict[str, bytes]:
    """Return what comes of steps that one process carries out."""
    loop, process = Loop(harness, steps), harness.open()
    loop.run(process)
    return loop.result(process)


def end_of(process: Process) -> None:
    process.kill()
    process.end()


def loop_steps(count: int, rows: int = 8) -> list[Step]:
    """Return steps of a usual loop, with whatever else a client may do among them."""
    steps: list[Step] = []
    while len(steps) < count:
        place = len(steps)
        steps += [
            ("forward_backward", batch(place, rows), {}),
            ("forward_backward", batch(place + 1, rows), {"micro_batch_size": 3, "reduction": "sum"}),
            ("optim_step", None, {"lr": 0.01} if place % 3 else {}),
        ]
    return steps[:count]


__all__ = ["Loop", "Lost", "Step", "end_of", "loop_steps", "undisturbed"]
