"""What is done to the parts of a cluster, one at a time: each function ends when the part runs again, or is missed."""

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

import psutil

from tests.chaos.cluster_parts import LEASE_SECONDS, SERVERS, Parts
from tests.support.ray_cluster import SESSION_ACTOR

Fault = Callable[[Parts, random.Random], None]


def _workers(actor: psutil.Process) -> list[psutil.Process]:
    """Return the processes that the fork server of an actor has forked."""
    with suppress(psutil.NoSuchProcess):
        return [worker for server in actor.children() for worker in server.children()]
    return []


def _kill_one(processes: list[psutil.Process], chance: random.Random, kind: int = signal.SIGKILL) -> None:
    if processes:
        with suppress(psutil.NoSuchProcess):
            chance.choice(processes).send_signal(kind)


def worker(parts: Parts, chance: random.Random) -> None:
    """Kill the process of an attempt at a fit, or have it crash."""
    found = [each for actor in parts.ray.actors() for each in _workers(actor)]
    _kill_one(found, chance, chance.choice((signal.SIGKILL, signal.SIGSEGV)))


def actor(parts: Parts, chance: random.Random) -> None:
    _kill_one(parts.ray.actors(), chance)


def session_actor(parts: Parts, chance: random.Random) -> None:
    _kill_one(parts.ray.actors(SESSION_ACTOR), chance)


def raylet(parts: Parts, chance: random.Random) -> None:
    """Kill the raylet of a node, or all processes of the node; it is started again."""
    name = chance.choice([*parts.nodes])
    if chance.random() < 0.5:
        parts.replace_node(name)
        return
    for each in parts.ray.raylets(parts.nodes[name]):
        each.kill()
        each.wait()
    parts.repair()


def server(parts: Parts, chance: random.Random) -> None:
    """Kill a server that does not lead, or have it stop; it is started again."""
    number = chance.choice([each for each in range(SERVERS) if each != parts.leader()])
    parts.stop_server(number, chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
    parts.start_server(number)


def leader(parts: Parts, chance: random.Random) -> None:
    """Kill the leading server, have it stop, or suspend it; it runs again at once, or when another one leads."""
    number = parts.leader()
    if chance.random() < 0.25:
        with parts.suspended(number):
            parts.leader()
        return
    parts.stop_server(number, chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
    if chance.random() < 0.5:
        parts.leader()
    parts.start_server(number)


def bridge(parts: Parts, chance: random.Random) -> None:
    """Kill the process that connects a server to Ray."""
    _kill_one(parts.bridges(), chance)


def database(parts: Parts, chance: random.Random) -> None:
    """Stop PostgreSQL, as if it had crashed or as it should, and start it again."""
    parts.database.stop(chance.choice(("immediate", "immediate", "fast")))
    time.sleep(chance.choice((0, 0, 3)))
    parts.database.start()


def storage(parts: Parts, chance: random.Random) -> None:
    """Kill SeaweedFS, and start it again."""
    parts.storage.kill()
    time.sleep(chance.choice((0, 2, 8)))
    parts.storage.start()


def link(parts: Parts, chance: random.Random) -> None:
    """Cut the link between the hosts, for less or for more than a lease."""
    parts.other_host.cut()
    time.sleep(chance.choice((0.5, LEASE_SECONDS / 2, 2 * LEASE_SECONDS)))
    parts.other_host.join()


def silent_node(parts: Parts, chance: random.Random) -> None:
    """Stop all processes of a node, for less or for more than a lease, and have them go on."""
    parts.ray.freeze_node(chance.choice([*parts.nodes.values()]))
    time.sleep(chance.choice((LEASE_SECONDS / 2, 2 * LEASE_SECONDS)))
    parts.ray.thaw()


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "worker": worker, "actor": actor, "session actor": session_actor, "raylet": raylet, "server": server,
        "leader": leader, "bridge": bridge, "database": database, "storage": storage, "link": link,
        "silent node": silent_node,
    }
)  # fmt: skip
WEIGHTS: Mapping[str, int] = MappingProxyType({"worker": 2, "actor": 2})
"""How often each is in a deck, one time if it is not named."""


def chosen() -> list[str]:
    """Return the names of faults that CHAOS_FAULTS names, separated by commas; of all if it names none."""
    named = list(filter(None, os.environ.get("CHAOS_FAULTS", "").split(",")))
    if unknown := set(named) - set(FAULTS):
        raise ValueError(f"CHAOS_FAULTS: there is no fault {sorted(unknown)}; there are {', '.join(FAULTS)}")
    return named or list(FAULTS)


def deck(chance: random.Random) -> list[str]:
    """Return the names of faults in an order of chance, each as often as it has weight."""
    names = [name for name in chosen() for _ in range(WEIGHTS.get(name, 1))]
    return chance.sample(names, len(names))
