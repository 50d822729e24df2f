"""The life of a session's process, from taking the session up to putting it aside."""

import logging
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import engine
from app.domain.errors import BadMessage, Corrupt, StorageFailed, StorageFull
from app.domain.frames import Attach, Ready, Step
from app.domain.messages import Failed, Finished, NumericsChanged, Phase, SessionAssignment
from app.domain.runtime import Runtime
from app.worker.control import Control
from app.worker.fit_loop import OUTCOMES
from app.worker.frame_channel import Line
from app.worker.reporter import Recorder
from app.worker.resources import chosen, room_for
from app.worker.session.backend import Bench
from app.worker.session.recovery import Recovered, recover
from app.worker.session.replies import POISON, STARVED
from app.worker.session.session_dir import Folder
from app.worker.session.static_backend import StaticBench
from app.worker.session.step_processor import Desk, StartAgain
from app.worker.session.training import TrainingBench
from app.worker.session.wal import DamagedLog

BENCHES: Mapping[str, Callable[[SessionAssignment, Runtime], Bench]] = MappingProxyType(
    {"training": TrainingBench, "static": StaticBench}
)
"""What each kind of session is worked on with."""

DAMAGED = "session_damaged"

_logger = logging.getLogger(__name__)


class SessionLife:
    """Works for a session until it should stop."""

    def __init__(self, assignment: SessionAssignment, end: socket.socket, recorder: Recorder, control: Control) -> None:
        """Take steps from the line that ends at `end`, and tell the rest to `recorder`."""
        self._assignment = assignment
        self._line = Line(end)
        self._recorder = recorder
        self._control = control
        refused = STARVED if assignment.starved else POISON
        self._refused = {**refused, "detail": assignment.poisoned_by or refused["detail"]}

    def wake(self) -> None:
        """Have it look what is wanted of it; from any thread."""
        self._line.ring()

    def live(self) -> Finished | Failed:
        """Work, and return the verdict. What a client may not see goes to the server's log."""
        try:
            return self._work()
        except DamagedLog as error:
            _logger.exception("session %s cannot be taken up", self._assignment.session_id)
            return Failed(DAMAGED, f"what the session has kept cannot be taken up: {error}")
        except Corrupt as error:
            return Failed(error.code, error.detail, error.blob)
        except engine.EngineError as error:
            return Failed(error.code, str(error))
        except (StartAgain, StorageFull, StorageFailed):
            _logger.exception("session %s has to be taken up again", self._assignment.session_id)
            return Finished("drained")

    def _work(self) -> Finished:
        runtime = chosen(Runtime.from_json(self._assignment.runtime), engine.Alone(), self._recorder.send)
        folder = Folder(Path(self._assignment.folder), self._recorder.durable)
        folder.lock()
        found = self._recovered(folder, runtime)
        desk = Desk(found.bench, found.ledger, folder, self._line, self._assignment.poison, self._refused)
        folder.clear(found.ledger.number, self._assignment.saved, found.ledger.next_seq)
        if found.before is not None and dict(found.before) != dict(runtime.fingerprint):
            self._recorder.send(NumericsChanged(dict(found.before), dict(runtime.fingerprint)))
            desk.rest()
        desk.commit()
        self._recorder.send(Phase("ready", None, runtime.to_json()))
        self._line.send((Ready(desk.standing), b""))
        while self._control.wanted is None and self._serve(desk, found.bench):
            pass
        desk.rest()
        return Finished(OUTCOMES[self._control.wanted or "drain"])

    def _recovered(self, folder: Folder, runtime: Runtime) -> Recovered:
        assignment = self._assignment

        def fresh() -> Bench:
            bench = BENCHES[assignment.kind](assignment, runtime)
            for dataset, columns in assignment.datasets.items():
                bench.attach(dataset, columns, assignment.classes.get(dataset, {}))
            return bench

        def begun() -> Bench:
            bench = fresh()
            if assignment.start_from is not None:
                bench.start_from(Path(assignment.start_from), parameters_only=assignment.restore == "parameters")
            return bench

        return recover(folder, fresh, begun, assignment.poison, self._refused, has_begun=assignment.begun)

    def _serve(self, desk: Desk, bench: Bench) -> bool:
        """Wait for frames, and do what they ask; False when there will be no more."""
        try:
            frames = self._line.receive(desk.seconds_left())
        except BadMessage:
            _logger.exception("a session rests: it cannot make out what the server wants")
            return False
        for head, body in frames or ():
            if isinstance(head, Attach):
                room_for(head.columns, head.classes)
                bench.attach(head.dataset, head.columns, head.classes, head.model)
            elif isinstance(head, Step):
                desk.take(head, body)
                desk.put_aside_if_due()
            if self._control.wanted is not None:
                break
        desk.end_waiting()
        desk.commit()
        return frames is not None
