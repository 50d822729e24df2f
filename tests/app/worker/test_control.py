import threading
from collections.abc import Callable
from typing import Any

import pytest

from app.domain.frames import to_line
from app.domain.messages import Assignment, Message
from app.domain.messages import Control as Order
from app.worker import control as module
from app.worker.control import EXIT_SERVER_GONE, STOP_REQUESTS, Control, agree_on_stop
from engine.training.distributed.collective import Alone, in_memory
from tests.support.patience import PATIENCE


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> "Exits":
    exits = Exits()
    monkeypatch.setattr(module.os, "_exit", exits.exit)
    return exits


class Exits:
    """Holds the listening thread for good instead of ending the process."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.happened = threading.Event()

    def exit(self, code: int) -> None:
        self.codes.append(code)
        self.happened.set()
        threading.Event().wait()


class Ticks:
    """Counts; and reports when the next one is over."""

    def __init__(self) -> None:
        self._more = threading.Semaphore(0)

    def __call__(self) -> None:
        self._more.release()

    def await_next(self) -> None:
        while self._more.acquire(blocking=False):
            pass
        assert self._more.acquire(timeout=PATIENCE)


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def control(channel: Any, server: Any, exits: Exits, ticks: Ticks) -> Any:
    control = Control(channel)
    control.start(ticks)
    yield control
    server.channel.close()
    assert exits.happened.wait(PATIENCE)


def test_the_assignment_is_waited_for_without_a_thread(
    channel: Any, server: Any, assign: Callable[..., Assignment]
) -> None:
    line, assignment = to_line(assign()), assign()
    sender = threading.Thread(target=lambda: [server.channel.sendall(part) for part in (line[:100], line[100:])])
    control, running = Control(channel), threading.active_count()
    sender.start()
    assert control.assignment() == assignment
    sender.join()
    assert control.stop_requested is None
    assert threading.active_count() == running


def test_an_order_that_comes_with_the_assignment_is_obeyed(
    channel: Any, server: Any, assign: Callable[..., Assignment]
) -> None:
    server.channel.sendall(to_line(assign()) + to_line(Order("cancel")))
    control = Control(channel)
    control.assignment()
    assert control.stop_requested == "cancel"


@pytest.mark.parametrize("said", [b"hello\n", b""])
def test_a_worker_that_gets_no_assignment_ends(
    channel: Any, server: Any, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(module.os, "_exit", leave)
    server.channel.sendall(said)
    server.channel.close()
    with pytest.raises(SystemExit) as end:
        Control(channel).assignment()
    assert end.value.code == EXIT_SERVER_GONE


@pytest.mark.parametrize(
    ("orders", "stop_requested"),
    [(["cancel"], "cancel"), (["drain"], "drain"), (["drain", "cancel"], "cancel"), (["cancel", "drain"], "cancel")],
)
def test_an_order_is_seen_and_a_clients_outlasts_the_servers(
    control: Control, server: Any, ticks: Ticks, orders: list[Any], stop_requested: str
) -> None:
    messages: list[Message] = [Order(kind) for kind in orders]
    server.channel.sendall(b"".join(map(to_line, messages)))
    ticks.await_next()
    ticks.await_next()
    assert control.stop_requested == stop_requested


def test_the_end_of_the_server_is_the_end_of_the_worker(control: Control, server: Any, exits: Exits) -> None:
    server.channel.close()
    assert exits.happened.wait(PATIENCE)
    assert exits.codes == [EXIT_SERVER_GONE]


def test_a_worker_that_does_not_understand_stops(control: Control, server: Any, exits: Exits) -> None:
    server.channel.sendall(b"hello\n")
    assert exits.happened.wait(PATIENCE)
    assert exits.codes == [EXIT_SERVER_GONE]


@pytest.mark.parametrize("stop_requested", STOP_REQUESTS)
def test_all_ranks_want_what_the_first_wants(stop_requested: Any) -> None:
    answers: list[Any] = []

    def ask(collective: Any) -> None:
        answers.append(agree_on_stop(collective, None if collective.rank else stop_requested))

    threads = [threading.Thread(target=ask, args=(end,)) for end in in_memory(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert answers == [stop_requested] * 3
    assert agree_on_stop(Alone(), stop_requested) == stop_requested
