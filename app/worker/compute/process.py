"""The life of a process that computes: one order after the other, each within the memory that it is granted."""

import logging
import os
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import engine
from app.domain.errors import BadMessage
from app.domain.frames import Answered, Frame, Granted, Need, Ready, Step
from app.domain.messages import ComputeAssignment, Finished
from app.domain.runtime import Runtime
from app.worker.compute.memory import Allowance, Models, NotGranted
from app.worker.compute.requests import Answers, Document, Graphs, look, predict
from app.worker.control import ORPHANED, Control
from app.worker.fit_loop import OUTCOMES
from app.worker.frame_channel import Line
from app.worker.session.replies import refusal

STATM = Path("/proc/self/statm")

PREDICT = "predict"

SLACK_BYTES = 64 * 1024**2
"""A process that holds so much more between orders than it should is replaced: its memory is in pieces."""

_logger = logging.getLogger(__name__)


class ComputeLife:
    """Carries out orders until it should stop."""

    def __init__(self, assignment: ComputeAssignment, end: socket.socket, control: Control) -> None:
        """Take orders from the line that ends at `end`; this process is confined to what the assignment says."""
        self._line = Line(end)
        self._control = control
        self._runtime = Runtime.from_json(assignment.runtime)
        self._allowance = Allowance(assignment.memory_bytes, assignment.operations, assignment.answer_bytes)
        self._models = Models(self._allowance, assignment.models_bytes)
        self._graphs = Graphs()
        self._answers = Answers(Path(assignment.folder), assignment.answer_bytes, assignment.min_free_bytes)
        self._memory_bytes = assignment.memory_bytes
        self._worn = False
        self._begun_with = _resident_bytes()

    def wake(self) -> None:
        """Have it look what is wanted of it; from any thread."""
        self._line.ring()

    def live(self) -> Finished:
        """Work, and return the verdict."""
        engine.set_blas_threads(self._runtime.threads)
        self._line.send((Ready(self._standing()), b""))
        while self._control.wanted is None:
            for head, body in self._frames():
                if isinstance(head, Step):
                    self._line.send(self._carried_out(head, body))
        return Finished(OUTCOMES[self._control.wanted])

    def _frames(self) -> list[Frame]:
        """Wait for frames. A process whose server is gone ends."""
        try:
            frames = self._line.receive(None)
        except BadMessage:
            _logger.exception("a process that computes stops: it cannot make out what the server wants")
            frames = None
        if frames is None:
            os._exit(ORPHANED)
        return frames

    def _carried_out(self, step: Step, body: bytes) -> Frame:
        self._allowance.set(step.options["granted"])
        try:
            media, answer, file = self._answers.put(step.id, self._document(step, body))
            return Answered(step.id, self._settled(), None, media, file=file), answer
        except MemoryError:
            # What else found no memory meanwhile is not known.
            self._worn = True
            return self._refused(step, self._allowance.exhausted())
        except NotGranted:
            return Answered(step.id, self._settled(), error={}), b""
        except Exception as error:
            if refusal(error)["status"] >= 500:
                _logger.exception("a computation (%s) met a fault", step.verb)
            return self._refused(step, error)

    def _refused(self, step: Step, error: Exception) -> Frame:
        return Answered(step.id, self._settled(), error=refusal(error)), b""

    def _document(self, step: Step, body: bytes) -> Document:
        if step.verb != PREDICT:
            ask = partial(self._ask, step, None)
            return look(step, body, self._graphs, lambda cost: self._allowance.admit(cost, ask, {}))
        name = step.options["model"]
        ask = partial(self._ask, step, name)
        predictor = self._models.get(name, step.options["load"], ask)
        held = {"model_bytes": predictor.model_bytes + predictor.kept_bytes}
        return predict(step, body, predictor, lambda cost: self._allowance.admit(cost, ask, held))

    def _ask(self, step: Step, model: str | None, terms: Mapping[str, int]) -> int:
        """Ask for the bytes of an order, as often as models that are kept can be forgotten for it."""
        while True:
            self._line.send((Need(step.id, dict(terms), self._models.nbytes(but=model)), b""))
            granted = self._granted(step.id)
            if granted or not self._models.forget_oldest(but=model):
                return max(granted, 0)

    def _granted(self, step_id: str) -> int:
        while True:
            for head, _ in self._frames():
                if isinstance(head, Granted) and head.id == step_id:
                    return head.memory_bytes
            if self._control.wanted is not None:
                return 0

    def _settled(self) -> dict[str, Any]:
        """Take no more than what is kept for later orders, and say what that is."""
        self._models.settle()
        self._allowance.set(self._memory_bytes + self._models.nbytes())
        return self._standing()

    def _standing(self) -> dict[str, Any]:
        kept = self._models.nbytes()
        worn = self._worn or _resident_bytes() - self._begun_with > SLACK_BYTES + kept
        return {"models": self._models.names, "kept_bytes": kept, "worn": worn}


def _resident_bytes() -> int:
    """Return the memory that this process alone has; 0 where the system does not tell."""
    try:
        _, resident, shared = STATM.read_text(encoding="ascii").split()[:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
