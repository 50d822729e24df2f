"""Several servers on one database and one Ray cluster, in one thread: a seeded scheduler decides what happens next.

The use cases, the repositories, the election, the supervisor and its Ray runner are the real ones. The clocks, the
links to the database, the nodes and what their actors compute are simulated.
"""

import random
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from app.config.settings import Settings
from app.domain.errors import Conflict, NotFound, RetryLater
from app.domain.fit import FitState
from app.domain.messages import Log, MetricRows
from app.domain.servers import ServerRecord
from app.runner.cluster.protocol import Connect
from app.runner.cluster.runner import RayRunner
from app.runner.port import Exited, Handle, Report
from app.runner.supervisor import Supervisor, SupervisorOptions
from app.service.attempts.assignments import WorkerConfig
from app.service.attempts.attempts import Attempts
from app.service.attempts.progress import AttemptReport, Claim
from app.service.fits.control import FitControl
from app.service.fits.event_log import record_state
from app.service.fits.limits import FitLimits
from app.service.resources.notifier import Notifier
from app.service.resources.shared_sweeper import SharedBlobSweeper
from app.store.database import Database
from app.store.postgres import election
from app.store.postgres.election import LEASE_SECONDS, Election
from app.store.unit_of_work import Store
from tests.chaos.invariants import Broken
from tests.chaos.simulated_bridge import SimulatedBridge
from tests.chaos.simulated_database import START, Elections, Link, TrueTime
from tests.chaos.simulated_fits import ATTEMPT, add_graph, check_fit, delete_unfinished, new_fit, require, row_of
from tests.chaos.simulated_nodes import Nodes
from tests.support.manual_clock import ManualClock
from tests.support.memory_blobs import MemoryBlobStore
from tests.support.storage import storage_context

SERVERS = 3
WORKERS = 4
SKEW_SECONDS = 3600.0
"""How far the wall clock of a server may be off."""

BEAT_SECONDS = 0.6
"""A server that is not hindered sends heartbeats as often as this."""

HELD_UP = 0.15
"""Share of the transactions that the leader hangs before."""

BLOBS_KEPT_FOR = timedelta(seconds=8 * LEASE_SECONDS)
"""Longer than a server is held up from storing a blob to the commit of the row that refers to it."""

SILENCE_SECONDS = 8.0
"""After so long without a heartbeat an attempt is given up."""

SETTLED_WITHIN = 400
LOSING_FOR = 10
"""Number of these rounds, the first ones, in which a bridge may be lost."""

ENDED_WITHIN = 40
"""Number of rounds after the last fit within which all actors end."""

LIMITS = FitLimits(max_queue=1_000_000, attempts_max=1000, fair_share_label="team")
TERMS = Connect("", None, "", None, None, 0, 30.0)


class ServerClock(ManualClock):
    """The clocks of one server: its wall clock is off, and its monotonic clock began some time ago."""

    def __init__(self, time: TrueTime, chance: random.Random) -> None:
        super().__init__(START)
        self._time = time
        self._skew = chance.uniform(-SKEW_SECONDS, SKEW_SECONDS)
        self._began = chance.uniform(0.0, 1e6)

    def monotonic(self) -> float:
        """Return the seconds since some moment of this server's own."""
        self._elapsed = self._time.elapsed + self._skew  # what `now` goes by
        return self._time.elapsed + self._began

    def time(self) -> float:
        """Return the wall clock in seconds."""
        return START.timestamp() + self._time.elapsed + self._skew


class NoProcesses:
    """The local runner of a server without sessions and computations."""

    unavailable_reason = None

    def open(self) -> None:
        """Do nothing."""

    def wake(self) -> None:
        """Do nothing: the scheduler looks."""

    def close(self) -> None:
        """Do nothing."""

    def known(self) -> tuple[Handle, ...]:
        """Return none."""
        return ()

    def receive(self, _timeout: float | None, _hold: Collection[Handle] = ()) -> list[Report | Exited]:
        """Return nothing, at once."""
        return []


class SimulatedRunner(RayRunner):
    """The real runner over a simulated bridge."""

    def __init__(self, server: "Server") -> None:
        super().__init__(server.clock, NoProcesses(), TERMS, "auto", str(server.staging))  # type: ignore[arg-type]  # none run
        self._server = server

    def _start_bridge(self) -> None:
        self._inbox.clear()
        world = self._server.world
        self._bridge = self._server.bridge = SimulatedBridge(  # type: ignore[assignment]  # what is used of one
            self._server.id, world.nodes, self._take_event, world.time, world.chance
        )


class SimulatedElection(Election):
    """The real election over a simulated connection."""

    def __init__(self, server: "Server") -> None:
        super().__init__(None, ServerRecord(server.id, "", "", {}), runs_fits=True)  # type: ignore[arg-type]  # none
        self._of = server

    def _connect(self) -> psycopg.Connection[Any]:
        connection: Any = self._of.world.elections.connect(self._of.id, self._of.link)
        return connection


class Server:
    """One server. It acts when the scheduler lets it."""

    def __init__(self, world: "ClusterWorld", number: int) -> None:
        self.world = world
        self.id = f"server_{world.schedule}_{number}"
        self.clock = ServerClock(world.time, world.chance)
        self.clock.monotonic()
        self.link = Link(world.database, world.time, lambda: world.hold_up(self))
        self.store = Store(self.link, self.clock)
        self.staging = world.folder / self.id
        self.is_hung = False
        self.election = SimulatedElection(self)
        self.election.stand("", lambda: None)
        blobs = MemoryBlobStore(world.folder, world.blobs)
        self.sweeper = SharedBlobSweeper(self.store, blobs, BLOBS_KEPT_FOR)
        blobs.before_storing(self.sweeper.keep)
        storage = storage_context(self.store, blobs, self.staging, sweeper=self.sweeper, clock=self.clock)
        config = WorkerConfig(WORKERS, leadership=self.election)
        self.attempts = Attempts(storage, self.staging, lambda _fit_id: None, config)
        self.bridge: SimulatedBridge
        runner = SimulatedRunner(self)
        runner.open()
        options = SupervisorOptions((0.0,), leadership=self.election)
        self.supervisor = Supervisor(self.attempts, runner, world.settings, self.clock, options)
        self.control = FitControl(self.store, Notifier(), self.supervisor, LIMITS)

    def beat(self) -> None:
        """Send a heartbeat; Broken if that replaces a leader whose heartbeats arrive."""
        before = self.world.elections.leader
        heard = self.world.elections.heartbeats.get(before[1])
        with self.world.clocks_of(self):
            self.election.beat()
        epoch, leader = self.world.elections.leader
        if epoch != before[0] and heard is not None and self.world.time.micros - heard < LEASE_SECONDS * 1e6:
            raise Broken(f"{leader} replaces {before[1]}, whose heartbeats arrive")
        if epoch < before[0]:
            raise Broken("an epoch has come again")

    def act(self) -> None:
        """Do what the supervisor does in one pass; a leader deletes unused blobs as well."""
        self.clock.monotonic()
        self.supervisor.wake()
        self.supervisor._run_once()
        if self.election.epoch is not None:
            with suppress(RetryLater):
                self.sweeper.collect()


class ClusterWorld:
    """Servers, nodes and clients, driven one action at a time."""

    def __init__(self, folder: Path, nodes: int) -> None:
        """Open the database in `folder`; what else is kept goes there as well."""
        self.folder = folder
        self.time = TrueTime()
        self.database = Database.open(folder)
        self.elections = Elections(self.database, self.time)
        self.blobs = MemoryBlobStore(folder)
        self.settings = Settings(
            data_dir=folder,
            workers=WORKERS,
            metrics_flush_seconds=0.05,
            retry_seconds=0.5,
            lease_seconds=SILENCE_SECONDS,
        )
        self.schedule = 0
        self._count = nodes
        add_graph(Store(self.database, ManualClock()), START)

    def begin(self, chance: random.Random) -> None:
        """Forget what was, for the next schedule."""
        self.chance = chance
        self.trace: list[str] = []
        self.schedule += 1
        self._started = 0
        self.nodes = Nodes(self._count)
        self.acknowledged: list[str] = []
        self._is_faulty = False
        self.store = Store(self.database, ManualClock())
        delete_unfinished(self.store)
        self.elections.heartbeats.clear()
        self.servers = [self._new_server() for _ in range(SERVERS)]

    def run(self, fits: int, actions: int) -> None:
        """Carry out a random schedule of so many `fits`, then let everything end; Broken where anything is wrong."""
        weighted: list[tuple[Callable[[], None], int]] = [
            (self._submit, 3),
            (self._pass_time, 8),
            (self._lead, 12),
            (self._act, 4),
            (self._create_actors, 8),
            (self._work, 8),
            (self._deliver, 10),
            (self._repeat, 2),
            (self._cut_or_heal, 3),
            (self._hang_or_wake, 2),
            (self._replace_leader, 2),
            (self._crash, 2),
            (self._lose_bridge, 2),
            (self._lose_node, 2),
            (self._cut_or_heal_node, 3),
            (self._give_up_a_node, 1),
            (self._report_late, 3),
            (self._control_a_fit, 2),
        ]
        self._left = fits
        self._is_faulty = True
        self._pass_time(BEAT_SECONDS)
        self._submit()
        for action in self.chance.choices([a for a, _ in weighted], [weight for _, weight in weighted], k=actions):
            self.trace.append(action.__name__)
            action()
        self.trace.append("settle")
        self._is_faulty = False
        self._settle()
        self._check()

    def hold_up(self, server: Server) -> None:
        """Now and then hang the leader between two transactions, for so long that another one takes over."""
        if self._is_faulty and server.election.epoch is not None and self.chance.random() < HELD_UP:
            self.trace.append("hold_up")
            self._is_faulty, server.is_hung = False, True
            self._pass_time(2 * LEASE_SECONDS)
            self._lead()
            self._is_faulty, server.is_hung = True, False

    @contextmanager
    def clocks_of(self, server: Server) -> Iterator[None]:
        """Have the election measure time by the clocks of a server in the block."""
        own, election.time = election.time, server.clock  # type: ignore[assignment]  # what is used of the module
        try:
            yield
        finally:
            election.time = own

    def _new_server(self) -> Server:
        self._started += 1
        return Server(self, self._started)

    def _one(self) -> Server:
        """Choose a server that does not hang; clients reach any of these."""
        return self.chance.choice([server for server in self.servers if not server.is_hung] or self.servers)

    def _submit(self) -> None:
        """Acknowledge some fits, as soon as they are committed."""
        count = self.chance.randint(1, max(1, self._left // 4))
        for _ in range(min(count, self._left)):
            fit = new_fit(self.chance, START, attempts_max=LIMITS.attempts_max)
            with suppress(RetryLater), self._one().store.begin() as work:
                work.fits.add(fit)
                record_state(work, fit)
                work.after_commit(lambda fit=fit: self.acknowledged.append(fit.id))  # type: ignore[misc]
                self._left -= 1

    def _pass_time(self, seconds: float | None = None) -> None:
        """Let time pass, in which every server that goes on sends its heartbeats."""
        left = seconds or self.chance.choice((0.05, 0.3, 1.0, 5.0))
        while left > 0:
            step = min(left, BEAT_SECONDS)
            self.time.elapsed += step
            left -= step
            for server in self.chance.sample(self.servers, len(self.servers)):
                server.bridge.end_actors()
                if not server.is_hung:
                    server.beat()
        self.nodes.end_killed(self.chance)

    def _act(self) -> None:
        self._one().act()

    def _lead(self) -> None:
        """Have those servers act that lead, or have not heard yet that they do not any more."""
        for server in self._leaders():
            if not server.is_hung:
                server.act()

    def _create_actors(self) -> None:
        """Bridges go on also where their servers hang."""
        for server in self.servers:
            server.bridge.create_actors()

    def _work(self) -> None:
        actors = [*self.nodes.actors.values()]
        for actor in self.chance.choices(actors, k=1 + len(actors) // 2) if actors else ():
            actor.work()

    def _deliver(self) -> None:
        """Bridges pass on some of what actors have reported, not always in the order of the attempts."""
        for bridge in [server.bridge for server in self.servers]:
            for token in self.chance.sample(bridge.followed, len(bridge.followed)):
                bridge.deliver(token, self.chance.randint(0, 6))

    def _repeat(self) -> None:
        for bridge in [server.bridge for server in self.servers]:
            for token in bridge.followed:
                bridge.repeat(token)

    def _cut_or_heal(self) -> None:
        """Cut a server, the leader more often than others, from the database; or heal its link."""
        server = self.chance.choice([*self.servers, *self._leaders()])
        server.link.is_cut = not server.link.is_cut

    def _hang_or_wake(self) -> None:
        """Stop a server in its tracks, or let it go on: it does not know at once what has happened meanwhile."""
        server = self.chance.choice([*self.servers, *self._leaders()])
        server.is_hung = not server.is_hung
        if not server.is_hung:
            server.act()

    def _replace_leader(self) -> None:
        """The leader hangs for so long that another one takes over, and then goes on as if nothing had happened."""
        leaders = self._leaders()
        for server in leaders:
            server.is_hung = True
        self._pass_time(2 * LEASE_SECONDS)
        self._lead()
        for server in leaders:
            server.is_hung = False
            server.act()

    def _leaders(self) -> list[Server]:
        return [server for server in self.servers if server.election.epoch is not None]

    def _crash(self) -> None:
        """A server is killed, and another one is started in its place."""
        place = self.chance.randrange(len(self.servers))
        self.servers[place].bridge.close()
        self.elections.end(self.servers[place].id)
        self.servers[place] = self._new_server()

    def _lose_bridge(self) -> None:
        """The bridge of a server ends, the leader's more often than others."""
        self.chance.choice([*self.servers, *self._leaders()]).bridge.fail()

    def _lose_node(self) -> None:
        self.nodes.lose(self.chance)

    def _cut_or_heal_node(self) -> None:
        """Have a node be reached no longer, or again: its actors go on."""
        if self.chance.random() < 0.5:
            self.nodes.cut(self.chance)
        else:
            self.nodes.heal(self.chance)

    def _give_up_a_node(self) -> None:
        """A node is not reached for so long that its fits are run elsewhere, while its actors go on."""
        if self.nodes.cut(self.chance):
            for _ in range(6):
                self._pass_time(SILENCE_SECONDS / 3)
                self._work()
                self._deliver()
                self._lead()
                self._create_actors()

    def _report_late(self) -> None:
        """What actors report that were superseded reaches a server, as through a follower that lags: it is refused."""
        with self.store.read() as work:
            in_force = {attempt.token for attempt in work.attempts.unended()}
        superseded = [actor for actor in self.nodes.actors.values() if actor.token not in in_force]
        for actor in superseded:
            with self.store.read() as work:
                fit = work.fits.get(actor.fit_id)
            row = row_of(actor.fit_id, actor.step + 1)
            report = AttemptReport(metric_rows=MetricRows([row], actor.step + 1, 1, {}, None))
            report.add(Log("info", str(actor.attempt), ATTEMPT))
            with suppress(Conflict, NotFound, RetryLater):
                self._one().attempts.record(Claim(fit, actor.token), report)
                raise Broken(f"attempt {actor.attempt} of {actor.fit_id} was superseded, and is still recorded")

    def _control_a_fit(self) -> None:
        control = self._one().control
        request = self.chance.choice((control.cancel, control.kill, control.pause, control.resume, control.resume))
        if self.acknowledged:
            with suppress(Conflict, RetryLater):
                request(self.chance.choice(self.acknowledged))

    def _settle(self) -> None:
        """Let everything work without faults until all fits have ended."""
        for server in self.servers:
            server.is_hung = server.link.is_cut = False
        self.nodes.heal_all()
        self._end_fits()
        for _ in range(ENDED_WITHIN):
            if not self._has_forgotten_actors():
                return
            self._pass_time(1.0)
            self._work_all()
        raise Broken("actors go on whose attempts have ended")

    def _has_forgotten_actors(self) -> bool:
        """Return whether actors are left that a server should end. Those of servers that are gone end after a day."""
        running = {server.id for server in self.servers}
        return any(actor.servers & running for actor in self.nodes.actors.values())

    def _end_fits(self) -> None:
        """Have all fits end; at first bridges are lost now and then, while nobody else begins to lead."""
        for number in range(SETTLED_WITHIN):
            self._pass_time(1.0)
            self._work_all()
            if number < LOSING_FOR and self.chance.random() < 0.2:
                self._lose_bridge()
            with self.store.read() as work:
                unfinished = work.fits.unfinished()
            if not unfinished:
                return
            for fit in unfinished:
                if fit.state is FitState.PAUSED:
                    self.servers[0].control.resume(fit.id)
        raise Broken(f"fits are left that do not end: {sorted(fit.state.value for fit in unfinished)}")

    def _work_all(self) -> None:
        """Have all servers claim what they may, all actors work to their end, and all reports come."""
        for server in self.servers:
            server.act()
            server.bridge.create_actors()
        for actor in self.nodes.actors.values():
            while not actor.has_ended:
                actor.work()
        for server in self.servers:
            for token in server.bridge.followed:
                server.bridge.deliver(token, 1000)
            server.act()

    def _check(self) -> None:
        for fit_id in self.acknowledged:
            fit = check_fit(self.store, self.blobs, fit_id)
            require(fit.state in (FitState.SUCCEEDED, FitState.CANCELLED), f"{fit_id} is {fit.state}: {fit.error}")
        with self.store.begin() as work:
            for fit_id in self.acknowledged:
                work.fits.delete(fit_id)
