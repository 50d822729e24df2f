"""Servers under attack, and what has to hold of each after every attack."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.extent import FULL
from tests.support.server import ROOT, ServerProcess, serving

GROWTH_BYTES_MAX = 128 << 20
"""The largest bodies leave some 70 MiB of heap behind, however often they are sent: 67 after three rounds and four."""
HEALTHY_SECONDS = 2.0 if FULL else 10.0
"""The longest that a server may be kept from answering; of a machine that does nothing else in `make chaos`."""
DATABASE = "adjoint.db"
"""Its journal comes and goes beside it."""
BLOBS = "sha256"
"""What is in it are folders, of which there are never more than 256."""
OTHERS_MAKE = {".hypothesis", ".pytest_cache"}
"""Where the server was started tests that run beside these may make folders of their own."""


@dataclass
class TargetServer:
    """A server, the folder that its temporary files go to, and how much memory it took before it was attacked."""

    server: ServerProcess
    temporary: Path
    rss: int
    probes: int = 0

    @property
    def grown(self) -> int:
        """Bytes of memory that the server's own process has taken since."""
        return resident(self.server) - self.rss

    def files(self) -> set[str]:
        """Return every file of the server's: its data, its temporary ones, and those where it was started."""
        folders = (self.server.data_dir, self.temporary)
        own = {path for folder in folders for path in folder.rglob("*") if not path.name.startswith(DATABASE)}
        started_in = {path for path in ROOT.iterdir() if path.name not in OTHERS_MAKE}
        return {str(path) for path in own | started_in if path.parent.name != BLOBS}

    def check_health(self) -> None:
        """Fail unless the server is well, at once, no larger, and has met no error that it did not expect."""
        self.probes += 1
        began = time.monotonic()
        assert self.server.http.get("/healthz", timeout=HEALTHY_SECONDS).status_code == 200
        assert time.monotonic() - began < HEALTHY_SECONDS
        assert self.grown < GROWTH_BYTES_MAX
        assert not [line for line in self.server.log if "traceback" in line.lower()]


@dataclass
class AttackFixture:
    """The servers that a module of tests attacks."""

    running: ExitStack
    folder: Path
    targets: list[TargetServer] = field(default_factory=list)
    files_may_be_left: bool = False

    def start(self, headers: dict[str, str] | None = None, warm: Sequence[str] = (), **settings: Any) -> ServerProcess:
        """Start a server that is looked after each test of the module, warm: what it takes later is for attacks.

        What it builds once to answer a path of `warm` is not for them either.
        """
        place = self.folder / str(len(self.targets))
        temporary = place / "tmp"
        temporary.mkdir(parents=True)
        started = serving(place / "data", headers, environment={"TMPDIR": str(temporary)}, **settings)
        server = self.running.enter_context(started)
        server.http.post("/v1/graphs:validate", json={"inputs": {"x": [2]}, "program": "a = x"})
        for path in warm:
            server.http.get(path)
        self.targets.append(TargetServer(server, temporary, resident(server)))
        return server

    def probes(self, server: ServerProcess) -> int:
        """Return how many requests were sent to a server to see whether it is well."""
        return next(each.probes for each in self.targets if each.server is server)


def resident(server: ServerProcess) -> int:
    """Return the bytes of memory that the server's own process takes."""
    return int(psutil.Process(server.process.pid).memory_info().rss)
