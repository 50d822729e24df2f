"""Every verb of a session of kind "training", carried out by a real process."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.documents import NPY, NPZ, SAFETENSORS
from app.domain.frames import Step
from app.domain.runtime import Runtime
from app.ingest.encoding import npy_body
from app.worker.session.training import TrainingBackend

from .driver import DEMANDING, LINE, MLP, Process, SessionHarness, batch, session_assignment

Make = Callable[..., SessionHarness]
TWO = {"x": [[1.0, 2.0], [3.0, 4.0]]}


@pytest.fixture
def process(session: Make) -> Process:
    return session(LINE, {"kind": "sgd", "lr": 0.1}).open()


def tensors(body: bytes, tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    (tmp_path / "body").write_bytes(body)
    arrays, metadata = engine.read_tensors(tmp_path / "body")
    return {name: array.tolist() for name, array in arrays.items()}, json.loads(metadata.get("answer", "{}"))


def test_a_loop_gives_what_the_engine_gives(session: Make) -> None:
    process = session(DEMANDING, "adamw", clip={"norm": 1.0}).open()
    same = engine.Session(
        engine.parse_graph(DEMANDING),
        "adamw",
        execution=engine.Execution("numpy", threads=1),
        seed=3,
        clip={"norm": 1.0},
    )
    for step in range(3):
        result, known = process.do("forward_backward", batch(step)), same.forward_backward(batch(step))
        assert result["loss"] == known.loss
        assert result["grad_norms"] == known.norms
        result, updated = process.do("optim_step", lr=0.01), same.optim_step(lr=0.01)
        assert (result["step"], result["clipped"], result["taken"]) == (updated.step, updated.clipped, updated.taken)
    _, body = process.answer(process.send("parameters", accept=SAFETENSORS))
    for name, array in same.parameters.items():
        assert array.tobytes() in body, name


def test_a_forward_pass_keeps_a_tape_that_takes_cotangents(process: Process) -> None:
    result = process.do("forward", inputs=TWO, keep=True)
    assert result["tape_id"] == "tape_1"
    assert result["losses"] == {"loss": 1.0}
    assert result["outputs"]["pred"]["data"] == [0.0, 0.0]

    result = process.do("backward", tape_id="tape_1", cotangents={"pred": [1.0, 10.0]})

    assert result["grad_norms"] == {"w": pytest.approx(np.hypot(31, 42))}
    _, body = process.answer(process.send("gradients", name="w", accept=NPY))
    assert np.load(io.BytesIO(body)).tolist() == [31.0, 42.0]
    result = process.do("backward", {"pred": np.ones(2)}, tape_id="tape_1")
    assert result["grad_norms"] == {"w": pytest.approx(np.hypot(35, 48))}


def test_a_tape_is_gone_when_the_parameters_have_changed(process: Process) -> None:
    process.do("forward", inputs=TWO, keep=True)
    process.do("set", parameters={"w": [1.0, 1.0]})
    error = process.refused("backward", tape_id="tape_1", cotangents={"pred": [1.0, 1.0]})
    assert (error["status"], error["code"]) == (410, "tape_gone")
    assert process.refused("backward", tape_id="other", cotangents={"pred": [1.0]})["status"] == 404


def test_only_the_last_tapes_are_kept(process: Process) -> None:
    for _ in range(17):
        process.do("forward", inputs=TWO, keep=True)
    assert process.refused("backward", tape_id="tape_1", cotangents={"pred": [1.0, 1.0]})["code"] == "tape_gone"
    process.do("backward", tape_id="tape_2", cotangents={"pred": [1.0, 1.0]})


def test_gradients_are_set_read_and_removed(process: Process) -> None:
    process.do("set_gradient", name="w", value=[3.0, 4.0])
    assert process.do("gradients")["data"][0]["norm"] == 5.0
    process.do("zero_grad")
    assert process.do("gradients", name="w")["data"] == [0.0, 0.0]
    process.do("set_gradient", name="w", body=npy_body(np.array([1.0, 0.0])), media=NPY)
    assert process.do("gradients", stats=True)["data"][0] == {
        "name": "w", "shape": [2], "dtype": "float32", "norm": 1.0, "mean": 0.5, "min": 0.0, "max": 1.0,
        "nan_count": 0, "inf_count": 0, "histogram": process.do("gradients", name="w", stats=True)["histogram"],
        "nonfinite": {},
    }  # fmt: skip
    process.do("set_gradient", name="w", value=None)
    entry = {"name": "w", "shape": [2], "dtype": "float32", "norm": None, "nonfinite": {}}
    assert process.do("gradients")["data"] == [entry]
    assert process.answer(process.send("gradients", name="w"))[1] == b"null"


def test_parameters_are_set_and_read(process: Process) -> None:
    process.do("set_parameter", name="w", value={"dtype": "float32", "shape": [2], "data": [1, 2]})
    assert process.do("parameters", name="w")["data"] == [1.0, 2.0]
    process.do("set_parameter", name="w", body=npy_body(np.array([5.0, 6.0])), media=NPY)
    process.do("set", {"w": np.array([7.0, 8.0])})
    assert process.do("predict", inputs=TWO)["outputs"]["pred"]["data"] == [23.0, 53.0]
    assert process.refused("parameters", name="nope")["status"] == 404
    assert process.refused("set_parameter", name="w", value=[1.0])["findings"][0]["code"] == "shape_mismatch"


def test_buffers_are_read(session: Make) -> None:
    process = session(DEMANDING).open()
    process.do("forward_backward", batch(1))
    names = [entry["name"] for entry in process.do("buffers")["data"]]
    assert "batch_norm_0.running_mean" in names
    assert any(process.do("buffers", name="batch_norm_0.running_mean")["data"])


def test_reset_clears_gradients_and_momenta(session: Make) -> None:
    process = session(LINE, {"kind": "sgd", "lr": 0.1, "momentum": 0.9}).open()
    process.do("forward_backward", inputs=TWO)
    process.do("optim_step")
    before = process.do("parameters", name="w")["data"]
    process.do("reset", momenta=True)
    process.do("set_gradient", name="w", value=[1.0, 0.0])
    process.do("optim_step")
    after = process.do("parameters", name="w")["data"]
    assert after[1] == before[1]
    process.do("zero_grad", set_to_none=True)
    assert process.do("gradients")["data"][0]["norm"] is None


def test_a_step_is_looked_into(process: Process) -> None:
    found = process.do("row_losses", inputs=TWO, top=1)
    assert found["losses"] == [1.0, 1.0]
    assert len(found["top"]) == 1
    assert process.do("trace_nonfinite", inputs=TWO)["first"] is None
    found = process.do("trace_nonfinite", {"x": np.array([[1, np.inf]], np.float32)})
    assert found["first"]["name"] == "x"
    assert {node["phase"] for node in process.do("profile", inputs=TWO)["data"]} == {"forward", "backward", "update"}


def test_what_is_not_finite_is_null_and_named(process: Process) -> None:
    result = process.do("forward_backward", {"x": np.array([[1, np.inf]], np.float32)})
    assert (result["loss"], result["nonfinite"]["loss"]) == (None, "nan")
    assert result["nonfinite"]["grad_norms/w"] == "nan"
    result = process.do("row_losses", {"x": np.array([[1, np.inf], [0, 0]], np.float32)})
    assert (result["losses"], result["nonfinite"]) == ([None, 1.0], {"0": "nan"})
    entry = process.do("gradients")["data"][0]
    assert (entry["norm"], entry["nonfinite"]) == (None, {"norm": "nan"})


def test_a_checkpoint_is_saved_and_loaded(session: Make, tmp_path: Path) -> None:
    harness = session(MLP, "adam")
    process = harness.open()
    process.do("forward_backward", batch(1))
    process.do("optim_step")
    bits = process.parameters()
    head, body = process.answer(process.send("save"))
    assert head.file == "saved-3.safetensors"
    saved = harness.folder() / head.file
    assert json.loads(body)["size_bytes"] == saved.stat().st_size
    saved.rename(tmp_path / "checkpoint")

    process.do("forward_backward", batch(2))
    process.do("optim_step")
    assert process.do("load", checkpoint="ckpt", files={"checkpoint": str(tmp_path / "checkpoint")})["step"] == 1
    assert process.parameters()["parameters"] == bits["parameters"]
    (tmp_path / "checkpoint").unlink()
    process.kill()
    process.end()

    process = harness.open(saved=[3])
    assert process.parameters()["parameters"] == bits["parameters"]
    result = process.do("optim_step", seq=7)
    assert result["step"] == 1
    assert not result["taken"]


def test_a_checkpoint_of_another_graph_is_refused_and_that_lasts(session: Make, tmp_path: Path) -> None:
    other, harness = session(LINE), session(MLP)
    process = other.open()
    head, _ = process.answer(process.send("save"))
    path = str(other.folder() / str(head.file))
    process = harness.open()
    error = process.refused("load", seq=1, checkpoint="ckpt", files={"checkpoint": path})
    assert (error["status"], error["code"], error["expected_seq"]) == (422, "checkpoint_invalid", 2)
    process.kill()
    process.end()
    assert harness.open().refused("load", seq=1, checkpoint="ckpt", files={"checkpoint": path}) == error


def test_outputs_come_as_tensors_of_their_own(process: Process, tmp_path: Path) -> None:
    _, body = process.answer(process.send("forward", inputs=TWO, accept=SAFETENSORS))
    arrays, answer = tensors(body, tmp_path)
    assert arrays == {"outputs/pred": [0.0, 0.0]}
    assert answer == {"seq": 1, "outputs": {}, "losses": {"loss": 1.0}, "tape_id": None, "nonfinite": {}}
    head, body = process.answer(process.send("predict", inputs=TWO, accept=NPY))
    assert head.media == NPY
    assert np.load(io.BytesIO(body)).tolist() == [0.0, 0.0]
    assert process.do("forward_backward", inputs=TWO, outputs=True)["outputs"]["pred"]["shape"] == [2]


def test_a_large_answer_goes_through_a_file(session: Make) -> None:
    harness = session(LINE)
    process = harness.open()
    rows = np.ones((300_000, 2), np.float32)
    head, body = process.answer(process.send("predict", {"x": rows}, accept=NPY))
    assert (body, head.media) == (b"", NPY)
    assert np.load(harness.folder() / str(head.file)).shape == (300_000,)


def encode(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_bodies_of_every_type_hold_inputs(process: Process) -> None:
    x = np.array(TWO["x"], np.float32)
    losses = [
        process.do("forward", {"x": x})["losses"],
        process.do("forward", body=encode({"x": x}), media=NPZ)["losses"],
        process.do("forward", body=npy_body(x), media=NPY)["losses"],
        process.do("forward", inputs=TWO)["losses"],
        process.do("forward", inputs={"x": {"dtype": "float32", "shape": [2, 2], "data": [1, 2, 3, 4]}})["losses"],
    ]
    assert losses == [{"loss": 1.0}] * 5


HOSTILE = [
    (NPY, b"", "truncated"),
    (NPY, b"\x93NUMPY\x01\x00", "truncated"),
    (NPY, npy_body(np.ones(3))[:-1], "truncated"),
    (NPZ, b"PK", "bad_zip"),
    (NPZ, b"\0" * 200, "bad_zip"),
    (SAFETENSORS, b"", "truncated"),
    (SAFETENSORS, b"\xff" * 64, "truncated"),
    (SAFETENSORS, (2).to_bytes(8, "little") + b"{]", "bad_json"),
    (SAFETENSORS, (2).to_bytes(8, "little") + b"{}x", "trailing_bytes"),
    ("text/plain", b"x", "unsupported_media_type"),
]


def test_hostile_bodies_are_refused_and_take_their_place(process: Process) -> None:
    for place, (media, body, code) in enumerate(HOSTILE, 1):
        error = process.refused("forward_backward", body=body, media=media, seq=place)
        assert (error["code"], error["expected_seq"]) == (code, place + 1), (media, body)
        assert 400 <= error["status"] < 500


WRONG = [
    ("forward_backward", {"inputs": {"x": [[1.0]]}}, "shape_mismatch"),
    ("forward_backward", {"inputs": {"y": [[1.0]]}}, "unknown_name"),
    ("forward_backward", {"inputs": {"x": "text"}}, "dtype_mismatch"),
    ("forward_backward", {"inputs": {"x": {"data": [[1], [2, 3]]}}}, "tensor_invalid"),
    ("forward_backward", {"inputs": TWO, "reduction": "sum", "micro_batch_size": 0}, "out_of_range"),
    ("forward_backward", {"rows": {"start": 0, "stop": 1}}, "missing_field"),
    ("forward_backward", {"rows": {"dataset": "ds_none", "start": 0, "stop": 1}}, "unknown_name"),
    ("optim_step", {"lr": -1.0}, None),
    ("optim_step", {"self": 1}, "attribute_invalid"),
    ("optim_step", {"nope": 1}, None),
    ("set", {"parameters": {"v": [1.0]}}, "unknown_name"),
    ("set_gradient", {"name": "v", "value": [1.0]}, "unknown_name"),
]


def test_what_does_not_suit_is_refused_with_a_place_and_changes_nothing(process: Process) -> None:
    bits = process.parameters()
    for place, (verb, options, code) in enumerate(WRONG, 1):
        step = Step(f"wrong {place}", verb, options)
        process.send_step(step, b"")
        head, _ = process.answer(step.id)
        error = head.error
        assert error is not None, (verb, options)
        assert error["status"] == 422, (verb, options, error)
        assert code is None or error["findings"][0]["code"] == code, (verb, options, error)
        assert error["expected_seq"] == place + 1
    assert process.parameters() == bits


def test_an_unknown_verb_takes_no_place(process: Process) -> None:
    error = process.refused("explode", seq=1)
    assert (error["status"], error["code"], error["expected_seq"]) == (404, "unknown_verb", 1)


def test_every_verb_is_tried_here(tmp_path: Path) -> None:
    assignment = session_assignment(tmp_path, LINE)
    bench = TrainingBackend(assignment, Runtime.from_json(assignment.runtime | {"executor": "numpy"}))
    source = Path(__file__).read_text()
    assert [verb for verb in bench.handlers if f'"{verb}"' not in source] == []
