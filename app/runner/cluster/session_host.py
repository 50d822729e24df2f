"""An attempt at a session on a node: the actor's side. Its process works in a folder of the node.

What changes in that folder is handed to the server in one order with what the process sends (`session_files`), so that
the server has stored every step before a client gets its reply.
"""

import json
import logging
import os
import queue
import socket
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from app.domain.errors import ApiError, BadMessage, Corrupt
from app.domain.frames import Attach, FrameReader, Head, Step, to_frame
from app.domain.messages import Assignment, Failed, Log, SessionAssignment
from app.runner.cluster.host import EXIT, AttemptHost
from app.runner.cluster.node_files import NodeFiles, relocate_columns, relocate_session
from app.runner.cluster.session_files import WatchedFolder
from app.runner.local import LocalRunner
from app.runner.port import Exited, Handle

CHANGE, FRAMES = "change", "frames"
"""Kinds of what is kept beside messages: a change of a file, and bytes that the process has sent to its clients."""

FORGOTTEN_SECONDS = 120.0
"""A session that no server has asked for so long ends here: its server is gone, and another one has its files."""

READ_BYTES = 1 << 16

_FOLDER = "session"

_logger = logging.getLogger(__name__)


class SessionHost(AttemptHost):
    """Runs the process of a session, from `begin` on."""

    what = "session"

    def __init__(self, assignment: str, terms: dict[str, Any]) -> None:
        """Make the folder of the session; `terms` are as those of `AttemptHost`."""
        self._pushed = 0
        self._starting = threading.Lock()
        self._publishing = threading.Lock()
        self._to_process: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._frames: socket.socket | None = None
        self._reader: threading.Thread | None = None
        self._watched: WatchedFolder | None = None
        self._is_broken = False
        self._closed = threading.Event()
        super().__init__(assignment, terms)

    def _launch(self) -> None:
        self._folder = self._open_staging().path / _FOLDER
        self._folder.mkdir(mode=0o700)
        threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def put(self, name: str, offset: int, data: bytes) -> None:
        """Write a part of a file that the session is restored from, before `begin`; again changes nothing."""
        self._asked_at = time.monotonic()
        descriptor = os.open(self._folder / Path(name).name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, data, offset)
        finally:
            os.close(descriptor)

    def begin(self) -> None:
        """Start the process; again changes nothing."""
        self._asked_at = time.monotonic()
        with self._starting:
            if self._watched is None:
                self._watched = WatchedFolder(self._folder)
                self._thread.start()

    def push(self, number: int, data: bytes) -> None:
        """Pass bytes on to the process. They are numbered from 1; what was passed on before is left out."""
        self._asked_at = time.monotonic()
        with self._starting:
            if number == self._pushed + 1:
                self._pushed = number
                self._to_process.put(data)

    def exchange(self, acknowledged: int, wait: float) -> tuple[bool, list[tuple[int, str, str, bytes]]]:
        """Forget what is kept up to a number, and return what follows it, as `receive` does with reports."""
        self._asked_at = time.monotonic()
        for path in self._outbox.acknowledge(acknowledged):
            path.unlink(missing_ok=True)
        is_alive, kept = self._outbox.after(acknowledged, wait)
        return is_alive, [(each.number, each.kind, each.text, each.data) for each in kept]

    def close(self) -> None:
        """Kill the process, and delete its folder; again changes nothing."""
        self._closed.set()
        self._outbox.close()
        self._to_process.put(None)
        super().close()
        if self._frames is not None:
            self._frames.close()

    def leave(self) -> None:
        """Do nothing: this is no actor."""

    def _watch(self) -> None:
        """Wait until nobody asks for the session any more; then leave nothing behind."""
        while not self._closed.wait(FORGOTTEN_SECONDS / 10):
            if time.monotonic() - self._asked_at > FORGOTTEN_SECONDS:
                self.close()
                self.leave()

    def _prepare(self) -> Assignment | SessionAssignment | None:
        return self._retry(lambda: self._relocate(self._files(), self._folder))

    def _relocate(self, files: NodeFiles, staging: Path) -> SessionAssignment:
        assert isinstance(self._assignment, SessionAssignment)
        return relocate_session(self._assignment, files.locate, staging)

    def _refuse(self, error: ApiError) -> None:
        """Report an error; only damage is for the server to judge, anything else is tried on another node."""
        if isinstance(error, Corrupt):
            super()._refuse(error)
        else:
            assignment = self._assignment
            self._end(Exited(Handle(assignment.owner_id, assignment.attempt, assignment.token), "error", error.detail))

    def _start(self, runner: LocalRunner, assignment: Assignment | SessionAssignment) -> Handle:
        self._frames, theirs = socket.socketpair()
        with theirs:
            handle = runner.start(assignment, theirs)
        self._reader = threading.Thread(target=self._read_frames, args=(self._frames,), name="frames", daemon=True)
        self._reader.start()
        threading.Thread(target=self._write_frames, args=(self._frames,), name="steps", daemon=True).start()
        return handle

    def _read_frames(self, frames: socket.socket) -> None:
        """Keep what the process sends to its clients."""
        while data := _received(frames):
            self._publish(FRAMES, "", data)

    def _write_frames(self, frames: socket.socket) -> None:
        """Pass on what clients send to the process, with the paths of this node."""
        reader = FrameReader()
        try:
            while (data := self._to_process.get()) is not None:
                for head, body in reader.feed(data):
                    located = self._retry(lambda head=head: self._located(head))  # type: ignore[misc]
                    if located is not None:
                        frames.sendall(to_frame(located, body))
        except OSError:
            return  # the process has exited
        except (ApiError, BadMessage) as error:
            detail = error.detail if isinstance(error, ApiError) else str(error)
            if isinstance(error, Corrupt):
                self._report(Failed(error.code, detail, error.blob))
            else:
                self._report(Log("error", f"a step cannot be passed on: {detail}"))
            self._command(lambda runner, handle: runner.kill(handle))

    def _located(self, head: Head) -> Head:
        if isinstance(head, Attach):
            return replace(head, columns=relocate_columns(head.columns, self._inputs.locate))
        if isinstance(head, Step) and head.files:
            return replace(head, files={place: self._inputs.locate(path) for place, path in head.files.items()})
        return head

    def _end(self, exited: Exited) -> None:
        if self._reader is not None:
            self._reader.join()
        super()._end(exited)

    def _add(self, kind: str, text: str, file: Path | None = None) -> None:
        assert file is None  # sessions report no files
        self._publish(kind, text)

    def _publish(self, kind: str, text: str, data: bytes = b"") -> None:
        """Keep a message or bytes of the process, after all that it has changed in its folder before."""
        with self._publishing:
            self._publish_changes()
            if kind == EXIT or not self._is_broken:
                self._outbox.wait_for_room()
                self._outbox.add(kind, text, None, data)

    def _publish_changes(self) -> None:
        """Keep the changes of the folder. If one is missed, nothing that follows it may reach the server."""
        watched = self._watched
        assert watched is not None
        if self._is_broken or self._closed.is_set():
            return
        try:
            for change, content in watched.changes():
                self._outbox.wait_for_room()
                self._outbox.add(CHANGE, json.dumps(asdict(change)), watched.file_to_delete(change), content)
        except OSError:
            _logger.exception("the files of a session cannot be read")
            self._is_broken = True
            self._command(lambda runner, handle: runner.kill(handle))


def _received(frames: socket.socket) -> bytes:
    try:
        return frames.recv(READ_BYTES)
    except OSError:
        return b""
