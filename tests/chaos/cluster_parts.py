"""Everything that a cluster consists of, on this machine: each part can be killed, and is started again."""

import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.cluster import ranks
from tests.support import hosts, postgres, ray_cluster, seaweed
from tests.support.patience import PATIENCE
from tests.support.server import ServerProcess, serving

MISSING = "; ".join(
    filter(
        None,
        (
            ray_cluster.MISSING, ranks.MISSING, seaweed.MISSING, hosts.MISSING,
            "" if postgres.AVAILABLE else postgres.MISSING,
        ),
    )
)  # fmt: skip
"""Why it cannot be run, empty if it can."""

SECRET = "the-secret-of-these-servers"
SERVERS = 3
CPUS = 14
"""Of each of the two nodes: one of them alone has room for all."""

LEASE_SECONDS = 6
SETTINGS: dict[str, Any] = {
    "workers": 10,
    "lease_seconds": LEASE_SECONDS,
    "retry_seconds": 0.2,
    "attempts_max": 1000,
    "drain_seconds": 2,
}
POLL_SECONDS = 0.1
ANSWER_SECONDS = 60.0
"""A request that is not answered for so long is sent again: its server may have been stopped."""


class Unanswered(AssertionError):
    """No server has answered."""


def eventually(what: str, holds: Any, seconds: float = 2 * PATIENCE) -> None:
    """Wait until it holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(POLL_SECONDS)


class Parts:
    """PostgreSQL, SeaweedFS, a Ray head, a node on each of two hosts, and three servers."""

    def __init__(self, folder: Path, stack: ExitStack, *, is_shared: bool) -> None:
        """Start all of it; with `is_shared` the servers have one data directory, otherwise one each."""
        self.folder, self.is_shared = folder, is_shared
        self.database = stack.enter_context(postgres.postgres_server())
        self.storage = stack.enter_context(seaweed.seaweed_server())
        self.other_host = stack.enter_context(hosts.second_host())
        self.ray = stack.enter_context(ray_cluster.ray_cluster(seaweed.CREDENTIALS, host=self.other_host.here))
        self._raylets: dict[str, psutil.Process] = {}
        self.nodes = {name: self._add_node(name) for name in ("here", "there")}
        self._settings = {
            **SETTINGS,
            "database_url": self.database.create_database(),
            "blob_url": f"s3://{seaweed.BUCKET}/chaos?endpoint=http://{self.other_host.here}:{self.storage.port}",
            "cluster_secret": SECRET,
        }
        self._stacks = [stack.enter_context(ExitStack()) for _ in range(SERVERS)]
        self.servers: list[ServerProcess | None] = [None] * SERVERS
        self.ids = [""] * SERVERS
        self.logs: list[list[str]] = []
        for number in range(SERVERS):
            self.start_server(number)

    def start_server(self, number: int) -> None:
        """Start a server, the first time or once more; again where storage that is just restarted makes it give up."""
        started = self._serving(number)
        self.logs.append(started.log)
        self.ids[number] = started.http.get("/v1/system").raise_for_status().json()["server"]
        self.servers[number] = started

    def _serving(self, number: int) -> ServerProcess:
        end = time.monotonic() + 2 * PATIENCE
        while True:
            try:
                return self._stacks[number].enter_context(
                    serving(
                        self.folder / ("data" if self.is_shared else f"data-{number}"),
                        environment={**self.ray.environment, **seaweed.CREDENTIALS},
                        **self._settings,
                    )
                )
            except RuntimeError as error:
                if "does not answer in time" not in str(error) or time.monotonic() > end:
                    raise

    def stop_server(self, number: int, kind: int) -> None:
        """End a server by a signal; nobody is sent to it any more."""
        server, self.servers[number] = self.servers[number], None
        assert server is not None
        server.stop(kind)
        self._stacks[number].close()

    @contextmanager
    def suspended(self, number: int) -> Iterator[None]:
        """Stop a server for the length of the block, in which nobody is sent to it."""
        server, self.servers[number] = self.servers[number], None
        assert server is not None
        server.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            server.process.send_signal(signal.SIGCONT)
            self.servers[number] = server

    def leader(self) -> int:
        """Wait until a server leads that runs, and return its number."""
        found: list[int] = []

        def is_found() -> bool:
            found[:] = [
                number for number in range(SERVERS) if self.servers[number] and self._named() == self.ids[number]
            ]
            return bool(found)

        eventually("no server leads", is_found)
        return found[0]

    def _named(self) -> str | None:
        server = next(filter(None, self.servers))
        with suppress(httpx.TransportError, ValueError, KeyError):
            leader: str | None = server.http.get("/readyz").json()["leader"]
            return leader
        return None

    def bridges(self) -> list[psutil.Process]:
        """Return the processes that connect the servers to Ray."""
        found = psutil.process_iter(["cmdline", "ppid"])
        pids = {server.process.pid for server in self.servers if server is not None}
        bridges = [each for each in found if "app.runner.cluster.bridge" in (each.info["cmdline"] or ())]
        return [each for each in bridges if each.info["ppid"] in pids]

    def repair(self) -> None:
        """Start nodes again that have ended: those do that the head has counted as lost."""
        for name, raylet in [*self._raylets.items()]:
            if not ray_cluster.runs(raylet):
                self.replace_node(name)

    def replace_node(self, name: str) -> None:
        """Kill a node, and start another one on its host."""
        self.ray.kill_node(self.nodes[name])
        self.nodes[name] = self._add_node(name)

    def _add_node(self, name: str) -> int:
        group = self.ray.add_node(CPUS, host=self.other_host if name == "there" else None)
        (self._raylets[name],) = self.ray.raylets(group)
        return group


class Client:
    """A client behind a load balancer: each request goes to any server that runs, and again where it was cut off."""

    def __init__(self, parts: Parts, chance: random.Random, stack: ExitStack) -> None:
        """Ask the servers of `parts`, until `stack` is closed."""
        self._parts, self._chance = parts, chance
        # To load certificates takes 30 ms.
        self._http = stack.enter_context(httpx.Client(timeout=ANSWER_SECONDS, verify=False))

    def ask(self, method: str, path: str, seconds: float = 3 * PATIENCE, **arguments: Any) -> httpx.Response:
        """Return an answer that is no request to come again; Unanswered if there is none for so long."""
        end = time.monotonic() + seconds
        last: object = None
        while time.monotonic() < end:
            running = [server for server in self._parts.servers if server is not None]
            if running:
                try:
                    answer = self._http.request(method, self._chance.choice(running).url + path, **arguments)
                except httpx.TransportError as error:
                    last = repr(error)
                else:
                    if "Retry-After" not in answer.headers:
                        assert answer.status_code < 500, f"{method} {path}: {answer.status_code} {answer.text[:1000]}"
                        return answer
                    last = answer.text[:500]
            time.sleep(POLL_SECONDS)
        raise Unanswered(f"{method} {path} is not answered: {last}")

    def read(self, path: str, **params: Any) -> Any:
        """Return what a GET is answered with."""
        answer = self.ask("GET", path, params=params)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        return answer.json()
