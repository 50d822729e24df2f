"""Lines and frames on the channels between processes."""

import json

import pytest

from app.domain import frames
from app.domain.errors import BadMessage
from app.domain.frames import FrameReader, Head, LineReader, to_frame, to_line
from app.domain.messages import Log, MetricRows, Started

HEADS: list[tuple[Head, bytes]] = [
    (frames.Step("req_1", "forward_backward", {"reduction": "sum"}, 3, "k", "application/x-npz"), b"\0\n\xff" * 5000),
    (frames.Step("req_2", "load", {"checkpoint": "ckpt_1"}, files={"checkpoint": "blobs/ab"}, notify=True), b""),
    (frames.Step("req_3", "set", {"a": [-(2**63) - 1, 2**64, 2**70, 2**63, -(2**63), 1e300]}), b""),
    (frames.Attach("ds_1", {"x": ["blobs/ab"]}), b""),
    (frames.Ready({"next_seq": 4}), b""),
    (frames.StepAccepted("req_1", 3), b""),
    (frames.MemoryRequest("req_1", {"plan_bytes": 2**40}, 7), b""),
    (frames.MemoryReply("req_1", -1), b""),
    (frames.StepReply("req_1", {"next_seq": 4}, 3, replayed=True), b'{"loss":0.1}'),
    (frames.StepReply("req_2", {"next_seq": 5}, 4, error={"status": 422, "code": "x", "detail": "a\u2028"}), b""),
]


def test_every_head_is_in_the_table() -> None:
    assert {type(head) for head, _ in HEADS} == set(frames._KINDS.values())


@pytest.mark.parametrize("piece", [1, 7, 4096, 1 << 20])
def test_frames_read_back_as_they_were_however_they_arrive(piece: int) -> None:
    stream = b"".join(to_frame(*frame) for frame in HEADS)
    reader = FrameReader()
    found = [frame for start in range(0, len(stream), piece) for frame in reader.feed(stream[start : start + piece])]
    assert found == HEADS


HEADS_THAT_ARE_NONE = [b"{", b"[]", b"{}", b'{"kind":"other"}', b'{"kind":"ready"}', b'{"kind":[]}', b"[" * 100_000]


@pytest.mark.parametrize("head", HEADS_THAT_ARE_NONE, ids=range(len(HEADS_THAT_ARE_NONE)))
def test_what_is_no_frame_is_refused(head: bytes) -> None:
    with pytest.raises(BadMessage):
        FrameReader().feed(frames._LENGTHS.pack(len(head), 0) + head)


def test_a_head_of_absurd_length_is_refused_before_it_has_come() -> None:
    with pytest.raises(BadMessage, match="bytes"):
        FrameReader().feed(frames._LENGTHS.pack(2**32 - 1, 0))


def test_a_head_with_a_field_too_many_is_refused() -> None:
    head = json.dumps({"kind": "accepted", "id": "a", "seq": 1, "more": 2}).encode()
    with pytest.raises(BadMessage, match="more"):
        FrameReader().feed(frames._LENGTHS.pack(len(head), 0) + head)


MESSAGES = [Started(1), MetricRows(['{"seq":1}'], 1, 1, {"loss": 0.5}), Log("info", "one\ntwo\u2028three"), Started(2)]


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
