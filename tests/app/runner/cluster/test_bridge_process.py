"""Processes in the place of the bridge: how their end is noted."""

import logging
import queue
import sys

import pytest

from app.runner.cluster import bridge_process
from app.runner.cluster.bridge_process import BridgeProcess
from app.runner.cluster.protocol import Connect, Event
from tests.support.patience import PATIENCE

EXIT_WITH_UNREAD_ORDERS = "import select; select.select([0], [], [])"


def test_a_bridge_that_ends_with_orders_unread_is_no_error_of_the_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bridge_process, "_COMMAND", (sys.executable, "-c", EXIT_WITH_UNREAD_ORDERS))
    events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
    with caplog.at_level(logging.ERROR):
        process = BridgeProcess(Connect("", None, "", None, None, 0, 0.0), "text", events.put)
        assert events.get(timeout=PATIENCE) is None
        process.close()
    assert caplog.records == []
