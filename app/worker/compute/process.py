"""The main loop of a compute process: one request at a time, each within the memory that it is granted."""

import logging
import os
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import engine
from app.domain.errors import BadMessage
from app.domain.frames import Frame, MemoryReply, MemoryRequest, Ready, Step, StepReply, from_json
from app.domain.messages import ComputeAssignment, Finished
from app.domain.runtime import Runtime
from app.domain.table_orders import TableEvaluation, TablePrediction
from app.service.resources.engine_documents import engine_faults, read_definition
from app.worker.compute.memory import MemoryGrant, MemoryNotGranted, ModelCache, ModelSource, model_bytes
from app.worker.compute.requests import Document, GraphCache, Pieces, ResponseWriter, predict, run_diagnostic
from app.worker.compute.tables import evaluate_table, predict_table
from app.worker.control import EXIT_SERVER_GONE, Control
from app.worker.fit_loop import OUTCOMES
from app.worker.frame_channel import FrameChannel
from app.worker.session.replies import encode_error

STATM = Path("/proc/self/statm")

PREDICT, PREDICT_TABLE, EVALUATE = "predict", "predict_table", "evaluate"

SLACK_BYTES = 64 * 1024**2
"""A process that holds this much more between requests than expected is replaced: its heap is fragmented."""

_logger = logging.getLogger(__name__)


class ComputeProcess:
    """Executes requests until it should stop."""

    def __init__(self, assignment: ComputeAssignment, end: socket.socket, control: Control) -> None:
        """Read requests from the frame channel `end`; this process is confined as the assignment says."""
        self._channel = FrameChannel(end)
        self._control = control
        self._runtime = Runtime.from_json(assignment.runtime)
        self._grant = MemoryGrant(assignment.memory_bytes, assignment.operations, assignment.answer_bytes)
        self._models = ModelCache(self._grant, assignment.models_bytes)
        self._graphs = GraphCache()
        self._responses = ResponseWriter(Path(assignment.folder), assignment.answer_bytes, assignment.min_free_bytes)
        self._memory_bytes = assignment.memory_bytes
        self._needs_replacement = False
        self._initial_bytes = _resident_bytes()

    def wake(self) -> None:
        """Make it check for stop requests; from any thread."""
        self._channel.notify()

    def run(self) -> Finished:
        """Serve requests, and return the verdict."""
        engine.set_blas_threads(self._runtime.threads)
        self._channel.send((Ready(self._status()), b""))
        while self._control.stop_requested is None:
            for head, body in self._frames():
                if isinstance(head, Step):
                    self._channel.send(self._execute(head, body))
        return Finished(OUTCOMES[self._control.stop_requested])

    def _frames(self) -> list[Frame]:
        """Wait for frames. The process exits if the server is gone."""
        try:
            frames = self._channel.receive(None)
        except BadMessage:
            _logger.exception("malformed frame from the server; the compute process exits")
            frames = None
        if frames is None:
            os._exit(EXIT_SERVER_GONE)
        return frames

    def _execute(self, step: Step, body: bytes) -> Frame:
        self._grant.set_limit(step.options["granted"])
        try:
            media, answer, file = self._responses.write(step.id, self._compute(step, body))
            return StepReply(step.id, self._finish_request(), None, media, file=file), answer
        except MemoryError:
            # Other allocations may have failed too; the process is replaced.
            self._needs_replacement = True
            return self._error_reply(step, self._grant.exhausted_error())
        except MemoryNotGranted:
            return StepReply(step.id, self._finish_request(), error={}), b""
        except Exception as error:
            if encode_error(error)["status"] >= 500:
                _logger.exception("internal error in a computation (%s)", step.verb)
            return self._error_reply(step, error)

    def _error_reply(self, step: Step, error: Exception) -> Frame:
        return StepReply(step.id, self._finish_request(), error=encode_error(error)), b""

    def _compute(self, step: Step, body: bytes) -> Document | Pieces:
        if step.verb == EVALUATE:
            return self._evaluate(step, TableEvaluation.from_json(from_json(body)))
        if step.verb not in (PREDICT, PREDICT_TABLE):
            request = partial(self._request_memory, step, None)
            return run_diagnostic(step, body, self._graphs, lambda cost: self._grant.admit(cost, request, {}))
        name = step.options["model"]
        request = partial(self._request_memory, step, name)
        predictor = self._models.get(name, step.options["load"], request)

        def admit(cost: engine.Cost) -> None:
            self._grant.admit(cost, request, {"model_bytes": predictor.model_bytes + predictor.kept_bytes})

        if step.verb == PREDICT:
            return predict(step, body, predictor, admit)
        order = TablePrediction.from_json(from_json(body))
        return predict_table(order, step.accept, predictor, self._grant, admit, self._responses.folder)

    def _evaluate(self, step: Step, order: TableEvaluation) -> Document:
        request = partial(self._request_memory, step, None)
        source = ModelSource(**order.model)
        with self._grant.allow_mapping(Path(source.path).stat().st_size), engine_faults():
            mapped = source.read()
            held = {"model_bytes": model_bytes(mapped)}
            self._grant.require(held, request)
            # Copies: the file is no longer mapped when the rows are.
            checkpoint = mapped.copied()
        definition = read_definition(source.definition)
        return evaluate_table(order, checkpoint, definition, self._grant, lambda c: self._grant.admit(c, request, held))

    def _request_memory(self, step: Step, model: str | None, terms: Mapping[str, int]) -> int:
        """Request memory; while it is denied, evict cached models and ask again."""
        while True:
            self._channel.send((MemoryRequest(step.id, dict(terms), self._models.nbytes(keep=model)), b""))
            granted = self._await_grant(step.id)
            if granted or not self._models.evict_oldest(keep=model):
                return max(granted, 0)

    def _await_grant(self, step_id: str) -> int:
        while True:
            for head, _ in self._frames():
                if isinstance(head, MemoryReply) and head.id == step_id:
                    return head.memory_bytes
            if self._control.stop_requested is not None:
                return 0

    def _finish_request(self) -> dict[str, Any]:
        """Lower the limit to what is kept for later requests, and return the status."""
        self._models.evict()
        self._grant.set_limit(self._memory_bytes + self._models.nbytes())
        return self._status()

    def _status(self) -> dict[str, Any]:
        kept = self._models.nbytes()
        needs_replacement = self._needs_replacement or _resident_bytes() - self._initial_bytes > SLACK_BYTES + kept
        return {"models": self._models.names, "kept_bytes": kept, "worn": needs_replacement}


def _resident_bytes() -> int:
    """Return the private memory of this process; 0 if unknown."""
    try:
        _, resident, shared = STATM.read_text(encoding="ascii").split()[:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
