"""A cluster on this machine beside the embedded default: `python -m tests.benchmarks.cluster`.

Contenders are a server with SQLite, two servers with PostgreSQL and an object store (SeaweedFS) that run fits
themselves, and two servers that run them on the two nodes of a Ray cluster. They take turns. Needs what
`make test-cluster` installs; a contender of which a part is missing is left out.
"""

import argparse
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from adjoint_client import Client
from tests.benchmarks.allreduce import BYTES, Pair, over_gloo, over_shared_memory
from tests.benchmarks.contenders.server_fit import ServerFit
from tests.benchmarks.databases import REQUEST, milliseconds, run_fit
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.workloads import STANDARD, WORKLOADS
from tests.support import postgres, ray_cluster, seaweed
from tests.support.ray_cluster import RayCluster
from tests.support.server import COMMAND, ServerProcess, serving

EMBEDDED, LOCAL, RAY = "SQLite, one server", "PostgreSQL, S3, local runner", "PostgreSQL, S3, Ray"
MISSING = "; ".join(filter(None, (seaweed.MISSING, "" if postgres.AVAILABLE else postgres.MISSING)))

SETTINGS = {"workers": 1, "lease_seconds": 5, "checkpoint_seconds": 1}
SECRET = "the-secret-of-these-servers"
CPUS = 2
"""Of each Ray node."""

FITS, POLLS, SUMS = 5, 200, 15
STEP_SECONDS = 3.0
"""How long a fit is about that is timed."""

LONG_FIT = {**REQUEST, "steps": 10**8, "record": {"every_steps": 100}, "checkpoint": {"every_steps": 100_000}}
POLL_SECONDS = 0.02


@dataclass
class Contender:
    """A way to run; `servers` are asked in this order, `cells` holds what was found."""

    name: str
    servers: list[ServerProcess]
    ray: RayCluster | None = None
    nodes: list[int] = field(default_factory=list)
    cells: dict[str, str] = field(default_factory=dict)

    def put(self, what: str, value: str) -> None:
        """Keep what was found, and show it at once."""
        self.cells[what] = value
        print(f"{self.name}: {what} {value}", flush=True)

    @property
    def first(self) -> ServerProcess:
        """The server that is asked."""
        return self.servers[0]

    def leader(self) -> ServerProcess:
        """Return the server that runs the fits."""
        if len(self.servers) == 1:
            return self.first
        named = wait_for(lambda: self.first.http.get("/readyz").json().get("leader"))
        ids = [server.http.get("/v1/system").raise_for_status().json()["server"] for server in self.servers]
        return self.servers[ids.index(named)]

    def worker(self) -> psutil.Process:
        """Return the process of the fit that runs."""
        if self.ray is not None:
            return wait_for(self.ray.actors)[0]
        leader = self.leader().http
        found = wait_for(lambda: [each["pid"] for each in leader.get("/v1/system").json()["workers"] if each["fit"]])
        return psutil.Process(found[0])


def wait_for(find: Callable[[], Any]) -> Any:
    """Return what is found, as soon as it is anything."""
    while not (found := find()):
        time.sleep(POLL_SECONDS)
    return found


@contextmanager
def contenders() -> Iterator[list[Contender]]:
    """Run all that can be run here."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        embedded = stack.enter_context(serving(folder / "embedded", command=COMMAND, **SETTINGS))
        found = [Contender(EMBEDDED, [embedded])]
        if not MISSING:
            database = stack.enter_context(postgres.postgres_server(durable=True))
            storage = stack.enter_context(seaweed.seaweed_server())

            def servers(name: str, environment: dict[str, str]) -> list[ServerProcess]:
                shared: dict[str, Any] = {
                    "database_url": database.create_database(),
                    "blob_url": f"s3://{seaweed.BUCKET}/{name}?endpoint=http://127.0.0.1:{storage.port}",
                    "cluster_secret": SECRET,
                    "environment": {**seaweed.CREDENTIALS, **environment},
                    **SETTINGS,
                }
                places = (folder / f"{name}-{number}" for number in range(2))
                return [stack.enter_context(serving(place, command=COMMAND, **shared)) for place in places]

            found.append(Contender(LOCAL, servers("local", {})))
            if not ray_cluster.MISSING:
                ray = stack.enter_context(ray_cluster.ray_cluster(seaweed.CREDENTIALS))
                nodes = [ray.add_node(CPUS) for _ in range(2)]
                found.append(Contender(RAY, servers("ray", ray.environment), ray, nodes))
        yield found


def measure_requests(contender: Contender) -> None:
    """Measure what a client waits for."""
    server = contender.first
    contender.leader()
    fit_id = run_fit(server.http)
    contender.put("POST to first row", f"{milliseconds(lambda: run_fit(server.http), FITS):.0f} ms")
    process = psutil.Process(server.process.pid)
    before = cpu_seconds(process)
    poll = milliseconds(lambda: server.http.get(f"/v1/fits/{fit_id}").raise_for_status(), POLLS)
    cpu = (cpu_seconds(process) - before) / POLLS
    contender.put("status poll", f"{poll:.1f} ms ({1000 * cpu:.2f} ms of CPU)")


def measure_steps(all_of_them: list[Contender]) -> None:
    """Measure the steps of fits, one contender after the other; the first one finds how many there have to be."""
    for name in STANDARD:
        estimate = 0.0
        for contender in all_of_them:
            with Client(contender.first.url) as client:
                fit = ServerFit(WORKLOADS[name], client)
                if not estimate:
                    fit.losses()
                    estimate = fit.seconds_per_step(STEP_SECONDS)
                fit.estimate = estimate
                seconds = fit.seconds_per_step(STEP_SECONDS)
            contender.put(f"steps of {name}", f"{1 / seconds:.0f} /s")


def measure_sums(all_of_them: list[Contender]) -> None:
    """Measure sums of gradients, as replicas of one machine add them, and as replicas of several do."""
    pairs: dict[str, Pair] = {"shared memory": over_shared_memory(), "gloo": over_gloo("127.0.0.1")}
    for size in BYTES:
        times = [{name: pair.measure(size) for name, pair in pairs.items()} for _ in range(SUMS)]
        found = {name: statistics.median(each[name] for each in times) for name in pairs}
        for contender in all_of_them:
            transport = "gloo" if contender.ray else "shared memory"
            contender.put(f"sum of {size / 1e6:g} MB", f"{1000 * found[transport]:.1f} ms ({transport})")
    for pair in reversed(pairs.values()):
        pair.close()


class LongFit:
    """A fit that something is killed of."""

    def __init__(self, contender: Contender, watcher: ServerProcess) -> None:
        """Start it; `watcher` is the server that is asked, which is not killed."""
        self._http = watcher.http
        self.id = self._http.post("/v1/fits", json=LONG_FIT).raise_for_status().json()["id"]
        wait_for(lambda: self._read("/checkpoints")["data"])
        self._contender = contender

    def seconds_until_it_goes_on(self, kill: Callable[[], object], *, attempts: int) -> float:
        """Kill something, and return how long it takes until the next attempt trains.

        With no further `attempts`, until the same one has stored rows again.
        """
        number = self._read()["attempt"] + attempts
        kill()
        began, last = time.monotonic(), self._read()["step"]

        def goes_on() -> bool:
            fit = self._read()
            has_news = fit["phase"] == "training" if attempts else fit["step"] > last
            return bool(fit["attempt"] == number and has_news)

        wait_for(goes_on)
        return time.monotonic() - began

    def cancel(self) -> None:
        """End it."""
        self._http.post(f"/v1/fits/{self.id}:kill").raise_for_status()
        wait_for(lambda: self._read()["terminal"])

    def _read(self, path: str = "") -> Any:
        return wait_for(lambda: self._answer(path))

    def _answer(self, path: str) -> Any:
        answer = self._http.get(f"/v1/fits/{self.id}{path}")
        return None if answer.status_code == 503 else answer.raise_for_status().json()


def measure_losses(contender: Contender) -> None:
    """Measure how soon a fit goes on after a part of what runs it was killed; the contender is of no use afterwards."""
    leader = contender.leader()
    watcher = next((server for server in contender.servers if server is not leader), leader)
    fit = LongFit(contender, watcher)
    killed = fit.seconds_until_it_goes_on(lambda: contender.worker().kill(), attempts=1)
    contender.put("worker killed", f"{killed:.1f} s")
    if watcher is not leader:
        own_attempts = 0 if contender.ray else 1
        killed = fit.seconds_until_it_goes_on(lambda: leader.stop(signal.SIGKILL), attempts=own_attempts)
        contender.put("leader killed", f"{killed:.1f} s")
    if contender.ray is not None:
        killed = fit.seconds_until_it_goes_on(lambda: kill_node_of_fit(contender), attempts=1)
        contender.put("node killed", f"{killed:.1f} s")
    fit.cancel()


def kill_node_of_fit(contender: Contender) -> None:
    """Kill the node that runs the fit, and its actor with it."""
    ray = contender.ray
    assert ray is not None
    (actor,) = ray.actors()
    raylets = {ray.raylets(node)[0].pid: node for node in contender.nodes}
    node = next(raylets[parent.pid] for parent in actor.parents() if parent.pid in raylets)
    ray.kill_node(node)
    actor.kill()


def main() -> None:
    """Measure, and print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with contenders() as found:
        for contender in found:
            measure_requests(contender)
        measure_steps(found)
        measure_sums(found)
        for contender in found:
            measure_losses(contender)
        print("\n| | " + " | ".join(contender.name for contender in found) + " |\n|---" + "|---" * len(found) + "|")
        for what in dict.fromkeys(what for contender in found for what in contender.cells):
            print(f"| {what} | " + " | ".join(contender.cells.get(what, "-") for contender in found) + " |")
    if MISSING or ray_cluster.MISSING:
        print(f"\nleft out: {MISSING or ray_cluster.MISSING}")


if __name__ == "__main__":
    main()
