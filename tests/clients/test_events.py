import pytest

from adjoint_client.events import Event, EventReader

STREAM = (
    b": heartbeat\n\n"
    b'id: 1\nevent: state\ndata: {"state":"running"}\n\n'
    b'retry: 100\nid:2\r\nevent:metric\r\ndata:{"loss":\r\ndata: 0.5}\r\n\r\n'
    + 'id: 3\nevent: log\ndata: {"text":"a\u2028b\x85c"}\n\n'.encode()
    + b"id: 4\nevent: end\ndata: {}\n"
)

EVENTS = [
    Event(1, "state", {"state": "running"}),
    Event(2, "metric", {"loss": 0.5}),
    Event(3, "log", {"text": "a\u2028b\x85c"}),
]


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_events_are_the_same_however_the_bytes_are_cut(size):
    reader = EventReader()
    events = [event for at in range(0, len(STREAM), size) for event in reader.feed(STREAM[at : at + size])]
    assert events == EVENTS


def test_an_event_without_its_empty_line_is_not_yet_one():
    reader = EventReader()
    reader.feed(STREAM)
    assert reader.feed(b"\n") == [Event(4, "end", {})]
