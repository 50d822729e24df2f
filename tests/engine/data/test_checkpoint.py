"""Checkpoints: safetensors written byte for byte, read back exactly, and refused when damaged."""

import hashlib
import io
import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine.data.checkpoint import CODES, read_tensors, write_tensors
from tests.support.rows import each_row

ARRAYS = {
    **{name: np.arange(6).reshape(2, 3).astype(name) for name in CODES},
    "scalar": np.float64(2.5) * np.ones(()),
    "empty": np.zeros((0, 3), np.float32),
    "flag": np.array(True),
    "special": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]),
    "name with spaces and ünïcode": np.ones(1, np.int8),
}


def written(arrays, metadata=None):
    file = io.BytesIO()
    write_tensors(file, arrays, metadata or {})
    return file.getvalue()


def by_hand(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_every_type_and_shape_comes_back_to_the_bit(tmp_path):
    path = tmp_path / "arrays.safetensors"
    path.write_bytes(written(ARRAYS, {"format": "pt"}))
    tensors, metadata = read_tensors(path)
    assert metadata == {"format": "pt"}
    assert list(tensors) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (tensors[name].dtype, tensors[name].shape) == (array.dtype, array.shape)
        assert tensors[name].tobytes() == array.tobytes()
        assert not tensors[name].flags.writeable


def test_the_bytes_are_those_of_the_format():
    arrays = {"a": np.array([[1.0, 2.0]], np.float32), "b": np.array(3, np.int64)}
    header = (
        b'{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},'
        b'"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]}}'
    )
    header += b" " * (-len(header) % 8)
    expected = len(header).to_bytes(8, "little") + header + bytes.fromhex("0000803f00000040") + bytes([3] + [0] * 7)
    assert written(arrays, {"k": "v"}) == expected


def test_files_of_other_writers_are_read(tmp_path):
    path = tmp_path / "other.safetensors"
    header = {
        "second": {"dtype": "I16", "shape": [2], "data_offsets": [3, 7]},
        "first": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
    }
    path.write_bytes(by_hand(header, bytes([1, 2, 3, 4, 0, 5, 0])))
    tensors, metadata = read_tensors(path)
    assert metadata == {}
    np.testing.assert_array_equal(tensors["first"], [1, 2, 3])
    np.testing.assert_array_equal(tensors["second"], [4, 5])


def test_arrays_in_any_memory_order_are_written_row_by_row(tmp_path):
    path = tmp_path / "order.safetensors"
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    path.write_bytes(written({"t": array.T, "step": array[:, ::2], "big": array.astype(">f4")}))
    tensors, _ = read_tensors(path)
    np.testing.assert_array_equal(tensors["t"], array.T)
    np.testing.assert_array_equal(tensors["step"], array[:, ::2])
    np.testing.assert_array_equal(tensors["big"], array)


def checkpoint():
    return engine.Checkpoint(
        {"w": np.arange(6.0).reshape(2, 3), "b": np.zeros(())},
        {"norm.running_mean": np.ones(3, np.float32)},
        {"step/vector:float32": np.array(7), "momentum/w": np.ones((2, 3))},
        {"average/w": np.full((2, 3), 0.5)},
        {"step": 7, "latest": {"loss": (0.1).hex()}, "best": None},
        {"graph": "abc"},
    )


def test_a_checkpoint_comes_back_whole(tmp_path):
    saved = checkpoint()
    saved.save(tmp_path / "c.safetensors")
    loaded = engine.Checkpoint.load(tmp_path / "c.safetensors")
    for table in ("parameters", "buffers", "optimizer", "state"):
        before, after = getattr(saved, table), getattr(loaded, table)
        assert list(before) == list(after)
        assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    assert (loaded.cursor, loaded.meta) == (saved.cursor, saved.meta)
    raw, metadata = read_tensors(tmp_path / "c.safetensors")
    names = ["buffer:norm.running_mean", "optimizer:step/vector:float32", "optimizer:momentum/w", "state:average/w"]
    assert list(raw) == ["w", "b", *names]
    assert json.loads(metadata["adjoint"])["format"] == "adjoint-checkpoint/1"


def test_a_file_without_our_metadata_is_a_checkpoint_of_parameters(tmp_path):
    (tmp_path / "c.safetensors").write_bytes(written({"w": np.ones(2)}))
    loaded = engine.Checkpoint.load(tmp_path / "c.safetensors")
    assert (list(loaded.parameters), loaded.cursor, loaded.meta) == (["w"], {}, {})


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "c.safetensors"
    checkpoint().save(path)
    return path.read_bytes()


@pytest.mark.slow
def test_a_file_cut_short_anywhere_is_refused(small, tmp_path):
    path = tmp_path / "c.safetensors"
    for length in range(len(small)):
        path.write_bytes(small[:length])
        with pytest.raises(engine.CheckpointError):
            engine.Checkpoint.load(path)
    path.write_bytes(small + b"\0")
    with pytest.raises(engine.CheckpointError):
        engine.Checkpoint.load(path)


@pytest.mark.slow
@settings(max_examples=250, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_file_with_a_damaged_header_is_read_or_refused(small, tmp_path, data):
    end = 8 + int.from_bytes(small[:8], "little")
    damaged = bytearray(small)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, end - 1))] = data.draw(
            st.one_of(st.integers(0, 255), st.sampled_from(b'0129,:[]{}"\\'))
        )
    path = tmp_path / "c.safetensors"
    path.write_bytes(damaged)
    with suppress(engine.CheckpointError):
        engine.Checkpoint.load(path)


GOOD = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
DAMAGED = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "a list": [],
    "null": None,
    "a name twice": b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8"}}',
    "endless brackets": b"[" * 100_000,
    "a huge number": b'{"a":' + b"9" * 5000 + b"}",
    "an entry that is a number": {"a": 3},
    "an entry that is null": {"a": None},
    "an unknown dtype": {"a": {**GOOD, "dtype": "C64"}},
    "a dtype that is a list": {"a": {**GOOD, "dtype": []}},
    "no shape": {"a": {"dtype": "U8", "data_offsets": [0, 2]}},
    "a shape of text": {"a": {**GOOD, "shape": ["2"]}},
    "a shape of lists": {"a": {**GOOD, "shape": [[2], [1]]}},
    "a fractional shape": {"a": {**GOOD, "shape": [2.0]}},
    "a boolean shape": {"a": {**GOOD, "shape": [2, True]}},
    "a negative shape": {"a": {**GOOD, "shape": [-1, -2]}},
    "a huge shape": {"a": {**GOOD, "shape": [2**70]}},
    "an empty huge shape": {"a": {**GOOD, "shape": [0, 2**70], "data_offsets": [0, 0]}},
    "a thousand axes": {"a": {**GOOD, "shape": [1] * 1000 + [2]}},
    "offsets of text": {"a": {**GOOD, "data_offsets": ["0", "2"]}},
    "three offsets": {"a": {**GOOD, "data_offsets": [0, 1, 2]}},
    "offsets outside": {"a": {**GOOD, "data_offsets": [1, 3]}},
    "offsets backwards": {"a": {**GOOD, "data_offsets": [2, 0]}},
    "a gap": {"a": {**GOOD, "shape": [1], "data_offsets": [1, 2]}},
    "an overlap": {"a": GOOD, "b": {**GOOD, "shape": [1], "data_offsets": [1, 2]}},
    "bytes left over": {"a": {**GOOD, "shape": [1], "data_offsets": [0, 1]}},
    "metadata of the wrong type": {"__metadata__": 3, "a": GOOD},
    "metadata that is no text": {"__metadata__": {"adjoint": 3}, "a": GOOD},
    "our metadata is no JSON": {"__metadata__": {"adjoint": "{"}, "a": GOOD},
    "our metadata is a list": {"__metadata__": {"adjoint": "[]"}, "a": GOOD},
    "our metadata is deep": {"__metadata__": {"adjoint": "[" * 100_000}, "a": GOOD},
    "our cursor is a list": {"__metadata__": {"adjoint": '{"cursor":[]}'}, "a": GOOD},
    "our meta is text": {"__metadata__": {"adjoint": '{"meta":"x"}'}, "a": GOOD},
}


@pytest.mark.parametrize("header", DAMAGED.values(), ids=DAMAGED)
def test_a_header_against_the_format_is_refused(header, tmp_path):
    path = tmp_path / "c.safetensors"
    path.write_bytes(by_hand(header, b"ab"))
    with pytest.raises(engine.CheckpointError):
        engine.Checkpoint.load(path)


def test_a_header_length_beyond_the_file_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    for length in (2**63, 2**64 - 1, 3, 10**9):
        path.write_bytes(length.to_bytes(8, "little") + b"{}")
        with pytest.raises(engine.CheckpointError):
            engine.Checkpoint.load(path)


def digests(**tables):
    return engine.state_digest(engine.Checkpoint(**{"parameters": {}, **tables}))


W = {"w": np.array([[1.0, 2.0]], np.float32), "b": np.array(3, np.int64)}


def test_digests_are_of_names_types_shapes_and_bytes():
    text = b'["b","int64",[]]\n' + bytes([3] + [0] * 7) + b'["w","float32",[1,2]]\n' + bytes.fromhex("0000803f00000040")
    wanted = hashlib.sha256(text).hexdigest()
    empty = hashlib.sha256(b"").hexdigest()
    assert digests(parameters=W) == {"parameters": wanted, "buffers": empty, "optimizer": empty}
    assert digests(buffers=W, optimizer=W) == {"parameters": empty, "buffers": wanted, "optimizer": wanted}


@each_row(
    "other",
    [
        {**W, "w": np.array([[1.0, np.nextafter(np.float32(2), np.float32(3))]], np.float32)},
        {**W, "w": W["w"][0]},
        {**W, "w": W["w"].astype(np.float64)},
        {**W, "b": np.array(3, np.int32)},
        {"w": W["w"], "c": W["b"]},
        {"w": W["w"]},
        {**W, "x": np.zeros(0, np.float32)},
    ],
)
def test_whatever_is_another_array_has_another_digest(other):
    assert digests(parameters=other) != digests(parameters=W)


def test_digests_do_not_depend_on_order_memory_or_the_file(tmp_path):
    turned = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    arrays = {**W, "t": turned, "half": np.arange(4).astype("bfloat16" if "bfloat16" in CODES else "float16")}
    checkpoint = engine.Checkpoint(arrays, optimizer={"big": np.arange(3.0).astype(">f8")}, cursor={"step": 1})
    checkpoint.save(tmp_path / "c.safetensors")
    loaded = engine.Checkpoint.load(tmp_path / "c.safetensors")
    assert engine.state_digest(loaded) == engine.state_digest(checkpoint)
    backwards = {name: arrays[name] for name in reversed(arrays)}
    assert digests(parameters=backwards)["parameters"] == engine.state_digest(checkpoint)["parameters"]
    others = engine.Checkpoint(arrays, optimizer=checkpoint.optimizer, state={"x": np.ones(1)}, meta={"a": 1})
    assert engine.state_digest(others) == engine.state_digest(checkpoint)
