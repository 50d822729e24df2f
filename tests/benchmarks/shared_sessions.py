"""What a step of a session takes where servers share a folder, and where they keep sessions in the database.

    python -m tests.benchmarks.shared_sessions [ROUNDS]

Two servers on one PostgreSQL server, which writes through to the disk, each with a database of its own: one keeps
sessions in its data directory, the other in the database and in object storage, here a folder. Rounds of steps go to
them in turn; medians are printed.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from adjoint_client import Client, Session
from tests.support.postgres import postgres_server
from tests.support.server import serving

STEPS = 100
ROUNDS = 10
GRAPH: dict[str, Any] = {
    "inputs": {"x": ["batch", 64], "y": ["batch"]},
    "parameters": {"a": {"shape": [64, 64], "init": "xavier_uniform"}, "b": {"shape": [64], "init": "zeros"}},
    "program": "loss = mean((tanh(x @ a) @ b - y) ** 2)",
}
INPUTS = {"x": [[0.01 * place for place in range(64)]] * 32, "y": [1.0] * 32}


def one_by_one(session: Session) -> None:
    """Send each step when the one before was answered."""
    for _ in range(STEPS // 2):
        session.forward_backward(**INPUTS)
        session.optim_step()


def pipelined(session: Session) -> None:
    """Send all steps without waiting."""
    with session.pipeline() as steps:
        for _ in range(STEPS // 2):
            steps.forward_backward(**INPUTS)
            steps.optim_step()


def main(rounds: int) -> None:
    """Print the steps per second of each way of sending, with each place of the sessions."""
    with tempfile.TemporaryDirectory() as name, postgres_server(durable=True) as postgres, ExitStack() as running:
        folder = Path(name)
        (folder / "objects").mkdir()
        common: dict[str, Any] = {"cluster_secret": "the-secret-of-these-servers"}
        settings = {
            "a shared folder": common,
            "the database": {**common, "blob_url": f"file://{folder}/objects"},
        }
        sessions: dict[str, Session] = {}
        for place, own in settings.items():
            url = postgres.create_database()
            server = serving(folder / place.replace(" ", "-"), database_url=url, **own)
            client = running.enter_context(Client(running.enter_context(server).url))
            sessions[place] = running.enter_context(client.session(GRAPH, optimizer="adam"))
        for send in (one_by_one, pipelined):
            print(send.__name__.replace("_", " "), _compare(sessions, send, rounds))


def _compare(sessions: dict[str, Session], send: Callable[[Session], None], rounds: int) -> str:
    seconds: dict[str, list[float]] = {place: [] for place in sessions}
    for number in range(rounds + 1):
        for place, session in sessions.items():
            began = time.perf_counter()
            send(session)
            if number:  # the first round starts the process
                seconds[place].append(time.perf_counter() - began)
    rates = {place: STEPS / statistics.median(taken) for place, taken in seconds.items()}
    return ", ".join(f"{place}: {rate:.0f} steps/s" for place, rate in rates.items())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
