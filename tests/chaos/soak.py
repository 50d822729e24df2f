"""An hour of use: `python -m tests.chaos.soak SECONDS`.

Fits, sessions, uploads, predictions, polls and backups come and go on one server, and what is stored is deleted again.
One JSON line a round of `ROUNDS` goes to standard output; the exit status is 1 if memory, descriptors, files or the
database are larger in the last third than in the second tenth by more than `ALLOWED` says.
"""

import io
import json
import random
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from app.cli.restoration import restored
from app.cli.verification import verify_directory
from app.store.database import FILE_NAME
from tests.chaos import processes
from tests.chaos.driver import Driver
from tests.chaos.workload import fit_request

KEPT = 10
"""Fits, datasets and sessions that are there at a time; the oldest are deleted."""
ROUNDS = 10
"""Rounds of use from one look at the server to the next."""
BACKUP_EVERY = 10
"""Looks from one backup to the next."""
PAUSE_SECONDS = 0.2
MIB = 1 << 20


@dataclass(frozen=True)
class Size:
    """What a server takes.

    Attributes:
        seconds: since the start.
        server_bytes: resident memory of the server's own process.
        family_bytes: of it and its fork server; of what works on a fit or a session nothing is left in between.
        descriptors: open files and connections of both.
        threads: of both.
        files: in the data directory.
        database_bytes: of the database and its journal.
        stored_bytes: of all other files.
    """

    seconds: float
    server_bytes: int
    family_bytes: int
    descriptors: int
    threads: int
    files: int
    database_bytes: int
    stored_bytes: int


ALLOWED = {
    "server_bytes": 16 * MIB,
    "family_bytes": 16 * MIB,
    "descriptors": 8,
    "threads": 4,
    "files": 60,
    "database_bytes": 4 * MIB,
    "stored_bytes": 4 * MIB,
}
"""By how much the largest of the last looks may be above the largest of the first."""


class Use:
    """What clients do, round after round."""

    def __init__(self, driver: Driver, folder: Path) -> None:
        """Do nothing yet."""
        self.driver, self.folder = driver, folder
        self.chance = random.Random(1)
        self.made: dict[str, deque[str]] = {kind: deque() for kind in ("fits", "datasets", "sessions")}
        self.backups = 0

    def round(self, number: int) -> None:
        """Train, step, upload and read; delete what is old."""
        request = fit_request(60, seed=number, checkpoint={"every_steps": 20, "keep_last": 2})
        fit = self._made("fits", request)
        session = self._made("sessions", {"graph": request["graph"]})
        self._ask("POST", f"/v1/sessions/{session}:zero_grad", json={})
        table = np.random.default_rng(number).standard_normal((500, 4))
        text = io.StringIO()
        np.savetxt(text, table, delimiter=",", header="a,b,c,d", comments="")
        upload = self._ask("POST", "/v1/datasets", content=text.getvalue(), headers={"Content-Type": "text/csv"})
        self._keep("datasets", upload["id"])
        self._ask("GET", "/v1/datasets")
        seen = 0
        while not self._ask("GET", f"/v1/fits/{fit}", params={"wait": 1})["terminal"]:
            seen += len(self._ask("GET", f"/v1/fits/{fit}/metrics", params={"after": seen})["data"])
        latest = self._ask("GET", f"/v1/fits/{fit}/checkpoints/latest")
        inputs = {"x": [[self.chance.random() for _ in range(6)]]}
        self._ask("POST", f"/v1/checkpoints/{latest['id']}:predict", json={"inputs": inputs})
        self.driver.answered("GET", f"/v1/fits/{self.chance.random()}")

    def back_up(self) -> None:
        """Download a backup while a fit is under way, restore it beside, and look at every file of it."""
        fit = self._made("fits", fit_request(400, seed=10_000 + self.backups))
        file, place = self.folder / "backup.tar", self.folder / f"restored-{self.backups}"
        file.write_bytes(self.driver.answered("GET", "/v1/backup").content)
        restored(file, place)
        assert not verify_directory(place).findings
        self.backups += 1
        assert self._ask("GET", f"/v1/fits/{fit}", params={"wait": 60})["terminal"]

    def _made(self, kind: str, request: dict[str, Any]) -> str:
        made: str = self._ask("POST", f"/v1/{kind}", json=request)["id"]
        self._keep(kind, made)
        return made

    def _keep(self, kind: str, made: str) -> None:
        kept = self.made[kind]
        kept.append(made)
        if len(kept) > KEPT:
            self.driver.answered("DELETE", f"/v1/{kind}/{kept.popleft()}")

    def _ask(self, method: str, path: str, **arguments: Any) -> Any:
        response = self.driver.answered(method, path, **arguments)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text[:500]}"
        return response.json()


def size_of(driver: Driver, began: float) -> Size:
    """Look at the server's processes and its files."""
    server = psutil.Process(driver.pid)
    lasting = [server, *(child for child in server.children() if processes.FORK_SERVER in " ".join(child.cmdline()))]
    database, other, files = 0, 0, 0
    for path in driver.data_dir.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file():
                files += 1
                size = path.stat().st_size
                database, other = (
                    (database + size, other) if path.name.startswith(FILE_NAME) else (database, other + size)
                )
    return Size(
        round(time.monotonic() - began, 1),
        server.memory_info().rss,
        sum(process.memory_info().rss for process in lasting),
        sum(process.num_fds() for process in lasting),
        sum(process.num_threads() for process in lasting),
        files,
        database,
        other,
    )


def growth(sizes: list[Size]) -> dict[str, int]:
    """Return by how much each figure of the last third is above that of the second tenth."""
    tenth = max(len(sizes) // 10, 1)
    first, last = sizes[tenth : 2 * tenth] or sizes[:1], sizes[-max(len(sizes) // 3, 1) :]
    names = [each.name for each in fields(Size) if each.name != "seconds"]
    return {name: max(getattr(s, name) for s in last) - max(getattr(s, name) for s in first) for name in names}


def main(seconds: float) -> int:
    """Use a server for so long."""
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(Path(folder), housekeeping_seconds=5)
        driver.start()
        use, began, sizes = Use(driver, Path(folder)), time.monotonic(), list[Size]()
        try:
            number = 0
            while time.monotonic() - began < seconds:
                use.round(number)
                time.sleep(PAUSE_SECONDS)
                number += 1
                if number % ROUNDS == 0:
                    sizes.append(size_of(driver, began))
                    print(json.dumps(asdict(sizes[-1])), flush=True)  # noqa: T201 (a command of its own)
                if number % (ROUNDS * BACKUP_EVERY) == 0:
                    use.back_up()
            assert not [line for line in driver.server.log if "Traceback" in line], driver.server.log
            driver.stop()
        except httpx.HTTPError as error:
            raise SystemExit(f"after {number} rounds: {error!r}\n{''.join(driver.server.log)[-4000:]}") from error
        finally:
            driver.close()
    if not sizes:
        raise SystemExit(f"{number} rounds are too few to show anything: let it run for longer")
    grown = growth(sizes)
    excess = {name: by for name, by in grown.items() if by > ALLOWED[name]}
    print(json.dumps({"rounds": number, "backups": use.backups, "growth": grown, "above": excess}))  # noqa: T201
    return int(bool(excess))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
