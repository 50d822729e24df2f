import json
import struct

import numpy as np
import pytest

import engine
from adjoint_client.errors import DownloadDamaged
from adjoint_client.safetensors import block, decode, encode, encode_blocks

ARRAYS = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "scalar": np.array(7, np.int64),
    "empty": np.zeros((0, 4), np.float64),
    "truth": np.array([True, False]),
    "half": np.array([1.5, -2], np.float16),
    "columns first": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
    "other byte order": np.array([1, 2], ">i4"),
}


def test_arrays_come_back_with_their_values_shapes_and_types():
    back = decode(encode(ARRAYS)).arrays
    assert list(back) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert back[name].shape == array.shape
        assert back[name].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(back[name], array)
        back[name][...] = 0  # writable


def test_texts_travel_in_the_metadata():
    content = b"".join(encode_blocks({"w": block("w", np.ones(2))}, {"steps": '[{"verb": "forward"}]'}))
    assert decode(content).metadata == {"steps": '[{"verb": "forward"}]'}


def test_large_arrays_are_sent_and_read_without_a_copy():
    large = np.arange(100_000, dtype=np.float32)
    sent = block("w", large)
    content = bytearray(b"".join(encode_blocks({"w": sent})))
    large[0] = 7
    assert np.frombuffer(sent.content, np.float32)[0] == 7
    assert np.frombuffer(sent.copied().content, np.float32)[0] == 7
    assert np.shares_memory(decode(content).arrays["w"], np.frombuffer(content, np.uint8))


def test_a_checkpoint_of_the_engine_is_read_with_its_metadata(tmp_path):
    path = tmp_path / "some.safetensors"
    parameters = {"w": np.ones((2, 2), np.float32), "b": np.zeros(3)}
    engine.Checkpoint(parameters, cursor={"step": 3}).save(path)
    tensors = decode(path.read_bytes())
    assert set(tensors.arrays) == set(parameters)
    assert json.loads(tensors.metadata["adjoint"])["cursor"] == {"step": 3}


def test_the_engine_reads_what_is_encoded_here(tmp_path):
    path = tmp_path / "some.safetensors"
    path.write_bytes(encode({"w": np.arange(4.0)}))
    tensors, _ = engine.read_tensors(path)
    np.testing.assert_array_equal(tensors["w"], np.arange(4.0))


def test_bfloat16_of_the_engine_becomes_float32(tmp_path):
    path = tmp_path / "some.safetensors"
    engine.Checkpoint({"w": engine.tensor([1.5, -0.1], dtype="bfloat16").numpy()}).save(path)
    w = decode(path.read_bytes()).arrays["w"]
    assert w.dtype == np.float32
    np.testing.assert_array_equal(w, np.float32([1.5, -0.10009765625]))


@pytest.mark.parametrize("value", [["a", "b"], [1 + 2j], [object()]])
def test_an_array_without_numbers_is_refused_by_its_name(value):
    with pytest.raises(TypeError, match="label"):
        encode({"label": value})


def _file(header: dict, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        struct.pack("<Q", 10**9) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        _file({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"1234"),
        _file({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, b"12345678"),
        _file({"w": {"dtype": "object", "shape": [1], "data_offsets": [0, 4]}}, b"1234"),
        _file({"w": {"shape": [1]}}),
    ],
)
def test_bytes_that_are_no_such_file_are_refused(content):
    with pytest.raises(DownloadDamaged):
        decode(content)
