import pytest

from app.domain.errors import BadMessage
from app.domain.messages import Log, Points, Started
from app.domain.wire import LineReader, to_line

MESSAGES = [Started(1), Points(['{"seq":1}'], 1, 1, {"loss": 0.5}), Log("info", "one\ntwo\u2028three"), Started(2)]


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_messages_come_out_whole_whatever_the_pieces_they_arrive_in(size: int) -> None:
    data = b"".join(map(to_line, MESSAGES))
    reader = LineReader()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [message for piece in pieces for message in reader.feed(piece)] == MESSAGES


def test_half_a_message_is_none_yet() -> None:
    reader = LineReader()
    line = to_line(Started(1))
    assert reader.feed(line[:-1]) == []
    assert reader.feed(line[-1:]) == [Started(1)]


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(BadMessage, match="not JSON"):
        LineReader().feed(b"Segmentation fault\n")
