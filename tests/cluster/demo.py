"""`make demo CLUSTER=1`: several servers, PostgreSQL, S3 and Ray on this machine; one of each is killed during a fit.

The fit is the one of the demo that learns digits, with two replicas. It is run twice: undisturbed, and while its actor,
the leading server, PostgreSQL, the object storage and its Ray node are killed. Both have the same rows and parameters.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from adjoint_client import Client
from app.cli.demo import dataset_path
from app.cli.demo.examples import EXAMPLES
from app.cli.demo.steps import split_csv
from tests.support import postgres, ray_cluster, seaweed
from tests.support.patience import PATIENCE
from tests.support.server import ServerProcess, serving

MISSING = "; ".join(
    filter(None, (ray_cluster.MISSING, seaweed.MISSING, "" if postgres.AVAILABLE else postgres.MISSING))
)
"""Why it cannot be run, empty if it can."""

SECRET = "the-secret-of-these-servers"
LEASE_SECONDS = 20
"""How long a Ray node may be silent before the fit goes on elsewhere."""

(DIGITS,) = (example for example in EXAMPLES if example.name == "digits")
FIELDS: dict[str, Any] = {
    **DIGITS.fields, "resources": {"threads": 1, "replicas": 2}, "seed": 7,
    "checkpoint": {"every_steps": 20}, "record": {"every_steps": 1},
}  # fmt: skip
INTERRUPTED = 130


def eventually(what: str, holds: Callable[[], Any]) -> None:
    """Wait until it holds; RuntimeError if it does not come about."""
    end = time.monotonic() + 2 * PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"waited in vain: {what}")
        time.sleep(0.05)


@dataclass
class Cluster:
    """All that runs. The servers have data directories of their own; what they share is in database and bucket."""

    database: postgres.PostgresServer
    storage: seaweed.SeaweedServer
    ray: ray_cluster.RayCluster
    folder: Path
    stack: ExitStack
    servers: list[ServerProcess] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._database_url = self.database.create_database()

    def start_server(self, number: int) -> None:
        """Start a server, the first or the second time, and have it in the place of its number."""
        started = self.stack.enter_context(
            serving(
                self.folder / f"server-{number}",
                environment={**self.ray.environment, **seaweed.CREDENTIALS},
                database_url=self._database_url,
                blob_url=f"s3://{seaweed.BUCKET}/demo?endpoint=http://127.0.0.1:{self.storage.port}",
                cluster_secret=SECRET,
                lease_seconds=LEASE_SECONDS,
            )
        )
        self.servers[number : number + 1] = [started]
        self.ids[number : number + 1] = [started.http.get("/v1/system").raise_for_status().json()["server"]]

    def is_leading(self, number: int) -> bool:
        """Whether a server leads, as it says itself."""
        leader: str | None = self.servers[number].http.get("/readyz").json().get("leader")
        return leader == self.ids[number]

    def leader(self) -> int:
        """Wait until a server leads, and return its number."""
        eventually("no server leads", lambda: any(map(self.is_leading, range(len(self.servers)))))
        return next(filter(self.is_leading, range(len(self.servers))))


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Run PostgreSQL, SeaweedFS, Ray with two nodes for fits, and two servers."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="adjoint-cluster-")))
        database = stack.enter_context(postgres.postgres_server(durable=True))
        storage = stack.enter_context(seaweed.seaweed_server())
        ray = stack.enter_context(ray_cluster.ray_cluster(seaweed.CREDENTIALS))
        for _ in range(2):
            ray.add_node()
        cluster = Cluster(database, storage, ray, folder, stack)
        for number in range(2):
            cluster.start_server(number)
        yield cluster


@dataclass
class Watched:
    """A fit, asked for at the server of a number."""

    cluster: Cluster
    id: str
    at: int = 0
    hold: Callable[[int], None] = lambda _step: None
    """Holds it at a step."""

    def read(self, path: str = "", **params: Any) -> dict[str, Any]:
        """Return the fit, or what belongs to it; asked again while a server cannot answer."""
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.cluster.servers[self.at].http.get(f"/v1/fits/{self.id}{path}", params=params)
            if answer.status_code != 503 or time.monotonic() > end:
                found: dict[str, Any] = answer.raise_for_status().json()
                return found
            time.sleep(0.1)

    def reaches(self, step: int) -> None:
        eventually(f"step {step} is not reached", lambda: self.read()["step"] >= step)

    def outcome(self) -> tuple[list[tuple[int, float]], str]:
        """Wait for its end, and return its losses with their numbers, and the digest of its last checkpoint."""
        eventually("the fit does not end", lambda: self.read()["terminal"])
        fit = self.read()
        if fit["state"] != "succeeded":
            raise RuntimeError(f"the fit ended as {fit['state']}: {fit['error']}")
        rows: list[tuple[int, float]] = []
        while page := self.read("/metrics", split="train", after=rows[-1][0] if rows else 0, limit=1000)["data"]:
            rows += [(row["seq"], row["values"]["loss"]) for row in page]
        return rows, self.read("/checkpoints", order_by="step")["data"][0]["digest"]


def submitted(cluster: Cluster) -> Watched:
    """Upload the digits, and begin to learn them."""
    with Client(cluster.servers[0].url) as client:
        source = dataset_path(DIGITS.name)
        split = split_csv(source, DIGITS.held_out, DIGITS.split_seed, cluster.folder)
        training, held_out = (client.upload(each, columns=DIGITS.columns) for each in (split.training, split.held_out))
        fit = client.fit(client.graph(DIGITS.graph()), training, validation=held_out, **FIELDS)
        return Watched(cluster, fit.id)


def kill_actor(fit: Watched) -> str:
    """Kill the processes of the attempt."""
    attempt = fit.read()["attempt"]
    for actor in fit.cluster.ray.actors():
        actor.send_signal(signal.SIGKILL)
    eventually("there is no further attempt", lambda: fit.read()["attempt"] > attempt)
    return "the next attempt resumes from the last checkpoint"


def kill_leader(fit: Watched) -> str:
    """Kill the leading server, and start it again when another one leads."""
    attempt, leader = fit.read()["attempt"], fit.cluster.leader()
    fit.at = 1 - leader
    fit.cluster.servers[leader].stop(signal.SIGKILL)
    eventually("nobody takes over", lambda: fit.cluster.is_leading(1 - leader))
    fit.cluster.start_server(leader)
    if fit.read()["attempt"] != attempt:
        raise RuntimeError("the attempt was restarted, though its actor had gone on")
    return "the other server leads; the attempt goes on"


def restart_database(fit: Watched) -> str:
    """Stop PostgreSQL as if it had crashed, and start it again."""
    leader = fit.cluster.leader()
    fit.cluster.database.stop("immediate")
    fit.cluster.database.start()
    eventually("the leader has changed", lambda: fit.cluster.is_leading(leader))
    return "the same server leads; the attempt goes on"


def restart_storage(fit: Watched) -> str:
    """Kill SeaweedFS, have the fit wait for it, and start it again."""
    fit.cluster.storage.kill()
    fit.hold(fit.read()["step"] + FIELDS["checkpoint"]["every_steps"])
    eventually("the fit does not wait", lambda: fit.read()["phase"] == "waiting_for_storage")
    fit.cluster.storage.start()
    eventually("the fit does not go on", lambda: fit.read()["phase"] != "waiting_for_storage")
    return "the fit waited until it could store its checkpoint"


def kill_node(fit: Watched) -> str:
    """Kill the Ray node that the fit runs on."""
    attempt, ray = fit.read()["attempt"], fit.cluster.ray
    eventually("the attempt does not run by itself", lambda: len(ray.actors()) == 1)
    ray.kill_node(os.getpgid(ray.actors()[0].ppid()))
    eventually("there is no further attempt", lambda: fit.read()["attempt"] > attempt)
    return "the next attempt resumes on the other node"


@dataclass(frozen=True)
class Fault:
    """What happens at a step, at which the fit is held: so it does not depend on the speed of the machine."""

    step: int
    name: str
    strike: Callable[[Watched], str]


FAULTS = (
    Fault(50, "the actor of the fit is killed", kill_actor),
    Fault(90, "the leading server is killed", kill_leader),
    Fault(130, "PostgreSQL crashes and is started again", restart_database),
    Fault(170, "the object storage is killed and started again", restart_storage),
    Fault(220, "the Ray node of the fit is killed", kill_node),
)


def disturbed(console: Console, cluster: Cluster) -> Watched:
    """Begin the fit, and kill one of everything."""
    with cluster.ray.gate.holding(FAULTS[0].step) as hold:
        fit = submitted(cluster)
        fit.hold = hold
        for fault in FAULTS:
            hold(fault.step)
            fit.reaches(fault.step)
            began = time.monotonic()
            consequence = fault.strike(fit)
            seconds = time.monotonic() - began
            console.print(f"step {fault.step}: {fault.name}: {consequence} ({seconds:.1f} s)", soft_wrap=True)
    return fit


def run(console: Console) -> int:
    """Show it all, and return the exit status: 0 if both fits have the same rows and parameters."""
    if MISSING:
        console.print(f"the demo cannot run: {MISSING}", markup=False)
        return 1
    began = time.monotonic()
    with running_cluster() as cluster:
        console.print(
            f"PostgreSQL, SeaweedFS, Ray with two nodes, and two servers run on this machine, after "
            f"{time.monotonic() - began:.0f} s: {', '.join(server.url for server in cluster.servers)}",
            soft_wrap=True,
        )
        console.rule("undisturbed", align="left")
        rows, digest = submitted(cluster).outcome()
        console.print(f"{len(rows)} steps with 2 replicas, loss {rows[0][1]:.4f} to {rows[-1][1]:.4f}")
        console.rule("one of everything killed", align="left")
        fit = disturbed(console, cluster)
        again, digest_again = fit.outcome()
        outcomes = [attempt["outcome"] for attempt in fit.read()["attempts"]]
        faults = [fault for server in cluster.servers for fault in server.tracebacks()]
    console.rule("compared", align="left")
    same = (rows, digest) == (again, digest_again)
    console.print(
        f"{len(again)} rows without a gap, in {len(outcomes)} attempts ({', '.join(outcomes)}); "
        f"losses and parameters are {'the same, bit by bit' if same else 'NOT the same'}",
        soft_wrap=True,
    )
    console.print(f"all has ended, after {time.monotonic() - began:.0f} s")
    for fault in faults:
        console.print(fault, markup=False)
    return 0 if same else 1


def main() -> int:
    """Run it in a terminal; Ctrl-C and SIGTERM end all that was started."""
    signal.signal(signal.SIGTERM, _interrupt)
    console = Console()
    try:
        return run(console)
    except KeyboardInterrupt:
        console.print("stopped")
        return INTERRUPTED


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
