"""An attempt on a node: the actor's side. It runs the process of the attempt, and keeps what that reports.

The process is forked as on the server's machine (`app.runner.local`), so that it is the same code in the same
environment, and ends with the actor however that ends.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from app.domain.clock import SystemClock
from app.domain.errors import ApiError, Corrupt, NotFound, StorageFailed, StorageFull, StorageUnavailable
from app.domain.messages import (
    Assignment,
    Control,
    Failed,
    Finished,
    Heartbeat,
    Log,
    Message,
    Outcome,
    SessionAssignment,
    decode,
    encode,
)
from app.runner.cluster.code_identity import explain_difference, identity
from app.runner.cluster.node_files import CopiedFiles, NodeFiles, SharedFiles, StagingFolder, node_folder, relocate
from app.runner.cluster.outbox import Outbox, file_of
from app.runner.cluster.protocol import Ended, StopKind, to_text
from app.runner.local import LocalRunner
from app.runner.port import Exited, Handle, Report

TOUCH_SECONDS = 300.0
"""Interval in which the copies of stored files are marked as used."""

RETRY_SECONDS = 2.0
END_SECONDS = 2.0
"""How long to wait until a killed process has exited: until then it may write files."""

FORGOTTEN_SECONDS = 86_400.0
"""An attempt that nobody has asked for so long ends: its server is gone for good."""

REPORT, EXIT = "report", "exit"
"""Kinds of what is kept."""

OUTCOMES: Mapping[StopKind, Outcome] = MappingProxyType({"cancel": "cancelled", "drain": "drained"})

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class AttemptHost:
    """Runs one attempt in a thread of its own. Its methods are called by Ray, in other threads."""

    what = "fit"
    """What the attempt is made at."""

    def __init__(self, assignment: str, terms: dict[str, Any]) -> None:
        """Begin. `terms` are the fields of `protocol.Connect` that nodes need, and the `identity` of the server."""
        self._terms = terms
        decoded = decode(assignment.encode())
        assert isinstance(decoded, Assignment | SessionAssignment)
        self._assignment = decoded
        self._outbox = Outbox()
        self._commands: deque[Callable[[LocalRunner, Handle], None]] = deque()
        self._runner: LocalRunner | None = None
        self._staging: StagingFolder | None = None
        self._stop_requested: StopKind | None = None
        self._asked_at = time.monotonic()
        self._is_closed = False
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="attempt", daemon=True)
        self.unusable = explain_difference(terms["identity"], identity())
        """Why this node must not run the attempt, None if it may."""
        if self.unusable is None:
            self._launch()

    def _launch(self) -> None:
        self._thread.start()

    def receive(self, acknowledged: int, after: int, wait: float) -> tuple[bool, list[tuple[int, str, str]]]:
        """Forget the reports up to `acknowledged`, and return the next ones after a number, each with its kind.

        Waits for `wait` seconds if there are none. The first value is whether the process has sent a heartbeat since
        the last call.
        """
        self._asked_at = time.monotonic()
        for path in self._outbox.acknowledge(acknowledged):
            path.unlink(missing_ok=True)
        is_alive, kept = self._outbox.after(after, wait)
        return is_alive, [(each.number, each.kind, each.text) for each in kept]

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Return a part of a file of the attempt; NotFound if it is not in its folder."""
        self._asked_at = time.monotonic()
        file = Path(path)
        if self._staging is None or not file.resolve().is_relative_to(self._staging.path.resolve()):
            raise NotFound("there is no such file in the folder of this attempt")
        with file.open("rb") as opened:
            return os.pread(opened.fileno(), size, offset)

    def send(self, message: str, grace: float | None) -> None:
        """Pass a control message on; with a `grace` the process is killed after this number of seconds."""
        control = decode(message.encode())
        assert isinstance(control, Control)
        if grace is None:
            self._command(lambda runner, handle: runner.send(handle, control))
        else:
            self._stop_requested = control.kind
            self._command(partial(_stop, kind=control.kind, grace=grace))

    def _command(self, command: Callable[[LocalRunner, Handle], None]) -> None:
        self._commands.append(command)
        if self._runner is not None:
            self._runner.wake()

    def _run(self) -> None:
        try:
            assignment = self._prepare()
            if assignment is None:
                assert self._stop_requested is not None
                self._report(Finished(OUTCOMES[self._stop_requested]))
                self._end(Exited(_handle_of(self._assignment), "finished", "the attempt was stopped before it began"))
            else:
                self._run_process(assignment)
        except ApiError as error:
            self._refuse(error)
        except Exception as error:
            _logger.exception("an attempt cannot be run")
            self._end(Exited(_handle_of(self._assignment), "error", f"it cannot be run ({type(error).__name__})"))

    def _refuse(self, error: ApiError) -> None:
        """Report an error that keeps the attempt from its beginning."""
        self._report(Failed(error.code, error.detail, error.blob if isinstance(error, Corrupt) else None))
        self._end(Exited(_handle_of(self._assignment), "finished", "the attempt could not begin"))

    def _prepare(self) -> Assignment | SessionAssignment | None:
        """Fetch the inputs of the attempt, waiting while the storage is unavailable. None if a stop comes first."""
        staging = self._open_staging()
        return self._retry(lambda: self._relocate(self._files(), staging.path))

    def _open_staging(self) -> StagingFolder:
        self._staging = StagingFolder(node_folder(self._terms["folder"]), self._assignment.token)
        return self._staging

    def _retry(self, fetch: Callable[[], T]) -> T | None:
        """Return what `fetch` does, called again while the storage is unavailable. None if a stop comes first."""
        waiting = ""
        while self._stop_requested is None:
            try:
                return fetch()
            except (StorageUnavailable, StorageFull, StorageFailed) as error:
                if waiting != error.code:
                    waiting = error.code
                    self._report(Log("warning", f"the {self.what} is waiting for its storage: {error.detail}", waiting))
            self._outbox.beat()
            time.sleep(RETRY_SECONDS)
        return None

    def _relocate(self, files: NodeFiles, staging: Path) -> Assignment | SessionAssignment:
        """Return the assignment with the paths of this node."""
        assert isinstance(self._assignment, Assignment)
        return relocate(self._assignment, files.locate, staging)

    def _files(self) -> NodeFiles:
        url, folder = self._terms["blob_url"], node_folder(self._terms["folder"])
        self._inputs: NodeFiles = SharedFiles() if url is None else CopiedFiles(url, folder, self._terms["cache_bytes"])
        return self._inputs

    def _start(self, runner: LocalRunner, assignment: Assignment | SessionAssignment) -> Handle:
        return runner.start(assignment)

    def _run_process(self, assignment: Assignment | SessionAssignment) -> None:
        self._runner = runner = LocalRunner(SystemClock())
        handle = self._start(runner, assignment)
        touched_at = time.monotonic()
        while handle in runner.known():
            while self._commands:
                self._commands.popleft()(runner, handle)
            # A killed process is read to the end: its exit is not known before that, and nobody may want its reports.
            is_held = self._outbox.is_full and not self._is_closed
            for report in runner.receive(RETRY_SECONDS, [handle] if is_held else ()):
                self._keep(report)
            now = time.monotonic()
            if now - touched_at > TOUCH_SECONDS:
                self._inputs.touch()
                touched_at = now
            if now - self._asked_at > FORGOTTEN_SECONDS:
                self._is_closed = True
                runner.kill(handle)
        runner.close()

    def _keep(self, report: Report | Exited) -> None:
        if isinstance(report, Exited):
            self._end(report)
        elif isinstance(report.message, Heartbeat):
            self._outbox.beat()
        else:
            if isinstance(report.message, Failed) and report.message.blob is not None:
                self._inputs.discard(report.message.blob)
            self._report(report.message)

    def _report(self, message: Message) -> None:
        self._add(REPORT, encode(message).decode(), file_of(message))

    def _end(self, exited: Exited) -> None:
        self._add(EXIT, to_text(self._settle(exited)).decode())

    def _settle(self, exited: Exited) -> Ended:
        """Return how the attempt has ended, when its process has exited."""
        return Ended(exited.handle.token, exited.reason, exited.detail, exited.asked, exited.with_server)

    def _add(self, kind: str, text: str, file: Path | None = None) -> None:
        self._outbox.add(kind, text, file)

    def close(self) -> None:
        """Kill the process, and delete what it has written; again changes nothing."""
        self._stop_requested = self._stop_requested or "cancel"
        self._is_closed = True
        self._command(lambda runner, handle: runner.kill(handle))
        with self._closing:
            if self._thread.is_alive():
                self._thread.join(END_SECONDS)
            staging, self._staging = self._staging, None
            if staging is not None:
                staging.delete()


def _stop(runner: LocalRunner, handle: Handle, *, kind: StopKind, grace: float) -> None:
    runner.stop(handle, kind, grace)


def _handle_of(assignment: Assignment | SessionAssignment) -> Handle:
    return Handle(assignment.owner_id, assignment.attempt, assignment.token)
