"""The main loop of a session's process: restore the session, execute steps, write a snapshot."""

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import engine
from app.domain.errors import BadMessage, Corrupt, StorageFailed, StorageFull
from app.domain.frames import Attach, Ready, Step
from app.domain.messages import Failed, Finished, NumericsChanged, Phase, SessionAssignment
from app.domain.runtime import Runtime
from app.worker.control import EXIT_SERVER_GONE, Control
from app.worker.fit_loop import OUTCOMES
from app.worker.frame_channel import FrameChannel
from app.worker.reporter import CompilationReport, Reporter
from app.worker.resources import allow_columns, select_executor
from app.worker.session.backend import SessionBackend
from app.worker.session.recovery import RecoveredSession, recover
from app.worker.session.replies import OUT_OF_MEMORY, POISON_REQUEST
from app.worker.session.session_dir import SessionDir
from app.worker.session.static_backend import StaticBackend
from app.worker.session.step_processor import RestartRequired, StepProcessor
from app.worker.session.training import TrainingBackend
from app.worker.session.wal import DamagedLog

BACKENDS: Mapping[str, Callable[[SessionAssignment, Runtime], SessionBackend]] = MappingProxyType(
    {"training": TrainingBackend, "static": StaticBackend}
)
"""The backend of each kind of session."""

DAMAGED_CODE = "session_damaged"

LOOK_SECONDS = 0.5
"""Interval in which a process looks whether another one is to take its place."""

_logger = logging.getLogger(__name__)


class SessionProcess:
    """Serves a session until it should stop."""

    def __init__(self, assignment: SessionAssignment, end: socket.socket, reporter: Reporter, control: Control) -> None:
        """Read steps from the frame channel `end`, and report to `reporter`."""
        self._assignment = assignment
        self._channel = FrameChannel(end)
        self._reporter = reporter
        self._control = control
        self._directory = SessionDir(Path(assignment.folder), reporter.durable)
        self._look_again_at = 0.0
        poison_error = OUT_OF_MEMORY if assignment.starved else POISON_REQUEST
        self._poison_error = {**poison_error, "detail": assignment.poisoned_by or poison_error["detail"]}

    def wake(self) -> None:
        """Make it check for stop requests; from any thread."""
        self._channel.notify()

    def exit_if_succeeded(self) -> None:
        """End this process, as a crash would, if that of a later attempt waits for the session; from any thread.

        What clients were answered is in the log, which that one reads.
        """
        if time.monotonic() >= self._look_again_at:
            self._look_again_at = time.monotonic() + LOOK_SECONDS
            if self._directory.is_claimed_after(self._assignment.attempt):
                _logger.warning("session %s goes on in another process; this one exits", self._assignment.session_id)
                os._exit(EXIT_SERVER_GONE)

    def run(self) -> Finished | Failed:
        """Serve the session, and return the verdict. Details that a client must not see go to the server's log."""
        try:
            with engine.report_compilation(CompilationReport(self._reporter).update):
                return self._work()
        except DamagedLog as error:
            _logger.exception("session %s cannot be restored", self._assignment.session_id)
            return Failed(DAMAGED_CODE, f"the stored state of the session cannot be restored: {error}")
        except Corrupt as error:
            return Failed(error.code, error.detail, error.blob)
        except engine.EngineError as error:
            return Failed(error.code, str(error))
        except (RestartRequired, StorageFull, StorageFailed):
            _logger.exception("session %s has to be restored", self._assignment.session_id)
            return Finished("drained")

    def _work(self) -> Finished:
        runtime = select_executor(Runtime.from_json(self._assignment.runtime), engine.Alone(), self._reporter.send)
        directory = self._directory
        directory.lock(self._assignment.attempt)
        found = self._recover(directory, runtime)
        processor = StepProcessor(
            found.backend, found.log, directory, self._channel, self._assignment.poison, self._poison_error
        )
        directory.remove_stale(found.log.number, self._assignment.saved, found.log.next_seq)
        if found.fingerprint is not None and dict(found.fingerprint) != dict(runtime.fingerprint):
            self._reporter.send(NumericsChanged(dict(found.fingerprint), dict(runtime.fingerprint)))
            processor.suspend()
        processor.commit()
        self._reporter.send(Phase("ready", None, runtime.to_json()))
        self._channel.send((Ready(processor.standing), b""))
        while self._control.stop_requested is None and self._serve(processor, found.backend):
            pass
        processor.suspend()
        return Finished(OUTCOMES[self._control.stop_requested or "drain"])

    def _recover(self, directory: SessionDir, runtime: Runtime) -> RecoveredSession:
        assignment = self._assignment

        def new_backend() -> SessionBackend:
            backend = BACKENDS[assignment.kind](assignment, runtime)
            for dataset, columns in assignment.datasets.items():
                backend.attach(dataset, columns, assignment.classes.get(dataset, {}))
            return backend

        def initial_backend() -> SessionBackend:
            backend = new_backend()
            if assignment.start_from is not None:
                backend.start_from(Path(assignment.start_from), parameters_only=assignment.restore == "parameters")
            return backend

        return recover(
            directory,
            new_backend,
            initial_backend,
            assignment.poison,
            self._poison_error,
            has_snapshot=assignment.begun,
        )

    def _serve(self, processor: StepProcessor, backend: SessionBackend) -> bool:
        """Wait for frames, and handle them; False at the end of the stream."""
        try:
            frames = self._channel.receive(processor.seconds_left())
        except BadMessage:
            _logger.exception("malformed frame from the server; the session is suspended")
            return False
        for head, body in frames or ():
            if isinstance(head, Attach):
                allow_columns(head.columns, head.classes)
                backend.attach(head.dataset, head.columns, head.classes, head.model)
            elif isinstance(head, Step):
                processor.submit(head, body)
                processor.write_snapshot_if_due()
            if self._control.stop_requested is not None:
                break
        processor.expire_waiting()
        processor.commit()
        return frames is not None
