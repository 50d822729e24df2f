import json
import math

import pytest

from app.domain import messages
from app.domain.errors import BadMessage
from app.domain.messages import Message, decode, encode
from app.domain.runtime import allot

MESSAGES: list[Message] = [
    messages.Assignment(
        fit_id="fit_1",
        attempt=1,
        token="secret",
        definition={"nodes": [{"op": "add"}]},
        request={"epochs": 2, "seed": 2**70},
        columns={"x": ["blobs/x.npy", "blobs/y.npy"]},
        validation_columns=None,
        resume_from=None,
        staging="staging/1",
        runtime=allot({}, None, cores=1, workers=1).to_json(),
    ),
    messages.Control("cancel"),
    messages.SessionAssignment(
        session_id="sess_1",
        attempt=2,
        token="t",
        kind="training",
        definition={"inputs": {}},
        request={"optimizer": "adam"},
        start_from=None,
        restore=None,
        folder="sessions/a",
        datasets={"ds_1": {"x": ["blobs/ab"]}},
        saved=[3],
        runtime={"executor": "native"},
        poison="req_1",
    ),
    messages.ComputeAssignment("compute-1", 1, "t", {"threads": 1}, 2**27, 2**30, 2**30, 10**12, "scratch", 2**26),
    messages.Started(pid=42),
    messages.Phase("training"),
    messages.MetricRows(rows=['{"seq":1,"values":{"loss":0.1}}'], step=1, epoch=0, latest={"loss": 0.1}),
    messages.CheckpointWritten("staging/a", 3, 1, 3, {"loss": 1e-300}, "ab" * 32, 100, is_best=True),
    messages.Log("warning", "a lone surrogate \ud800, a line\nbreak and \u2028"),
    messages.Log("warning", "the disk is full", "storage_full"),
    messages.GradientWritten("staging/g.npy", 0, "w1", "float32", [2, 3], "ab" * 32, 152),
    messages.NumericsChanged({"numpy": "2.4.5"}, {"numpy": "2.4.6"}),
    messages.Heartbeat(),
    messages.Finished("drained"),
    messages.Failed("numerics_nonfinite", "the loss is not finite at step 7"),
    messages.Control("cancel", "fit_3"),
    messages.Reached(100, math.inf),
    messages.About("fit_3", messages.MetricRows(['{"seq":1}'], 1, 0, {"loss": 0.1})),
]


def test_every_message_is_in_the_table() -> None:
    assert {type(message) for message in MESSAGES} == set(messages._TAGS.values())


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_reads_back_as_it_was(message: Message) -> None:
    assert decode(encode(message)) == message


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_one_line_of_json_with_its_type(message: Message) -> None:
    data = encode(message)
    assert b"\n" not in data
    assert "type" in json.loads(data)


def test_reports_of_variants_to_a_process_read_back_as_they_were() -> None:
    variants = [
        messages.VariantShare("fit_2", {"steps": 3, "optimizer": {"lr": 0.1}}, None, [], ended=False),
        messages.VariantShare("fit_3", {"steps": 3}, "blobs/ab", [0.5, -math.inf, None], ended=True),
    ]
    share = messages.SweepShare("val_loss", "min", 3, [10, 30], 2, variants)
    assert messages.SweepShare.from_json(json.loads(json.dumps(share.to_json()))) == share


def test_a_diverged_loss_travels_as_it_is() -> None:
    read = decode(encode(messages.MetricRows([], 1, 0, {"loss": math.nan, "lr": -math.inf})))
    assert isinstance(read, messages.MetricRows)
    assert math.isnan(read.latest["loss"])
    assert read.latest["lr"] == -math.inf


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "JSON object"),
        (b"{}", "unknown message type None"),
        (b'{"type": ["started"]}', "unknown message type"),
        (b'{"type": "stopped"}', "unknown message type 'stopped'"),
        (b'{"type": "started"}', "pid"),
        (b'{"type": "started", "pid": 1, "uid": 0}', "uid"),
        (b'{"type": "started", "pid": 1, "__class__": 0}', "__class__"),
    ],
)
def test_anything_else_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(BadMessage, match=complaint):
        decode(data)
