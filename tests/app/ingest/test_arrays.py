"""Arrays in the bodies of requests."""

import io
import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from app.domain.documents import NPY, NPZ, SAFETENSORS
from app.domain.errors import ApiError, Invalid, TooLarge, UnsupportedMedia
from app.ingest.arrays import read_arrays
from app.ingest.encoding import npy_body, safetensors_body
from app.ingest.limits import IngestLimits

LIMITS = IngestLimits()
ARRAYS = {
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 3), np.float32),
    "rows": np.arange(6, dtype=np.int64).reshape(2, 3),
    "flags": np.array([True, False]),
    "half": np.array([1.5, -2], np.float16),
    "columns": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
}


def npz(arrays: dict[str, Any], save: Any = np.savez) -> bytes:
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


BODIES = {
    "npz": (NPZ, npz(ARRAYS)),
    "npz, packed": (NPZ, npz(ARRAYS, np.savez_compressed)),
    "safetensors": (SAFETENSORS, safetensors_body(ARRAYS, {"steps": "[]"})),
}


@pytest.mark.parametrize("name", BODIES)
def test_arrays_of_every_type_and_shape_are_read(name: str) -> None:
    media, body = BODIES[name]
    for _ in range(2):
        found = read_arrays(body, media, LIMITS)
        assert {n: (a.dtype, a.shape, a.tolist()) for n, a in found.arrays.items()} == {
            n: (a.dtype, a.shape, a.tolist()) for n, a in ARRAYS.items()
        }
    assert found.metadata == ({"steps": "[]"} if media == SAFETENSORS else {})


@pytest.mark.parametrize("name", ARRAYS)
def test_one_array_is_read_without_a_name(name: str) -> None:
    found = read_arrays(npy_body(ARRAYS[name]), NPY, LIMITS).arrays
    assert (found[""].shape, found[""].tolist()) == (ARRAYS[name].shape, ARRAYS[name].tolist())


def test_bfloat16_becomes_float32() -> None:
    body = safetensors_body({"x": np.array([1.5, -2], ml_dtypes.bfloat16)})
    found = read_arrays(body, SAFETENSORS, LIMITS).arrays["x"]
    assert (found.dtype, found.tolist()) == (np.float32, [1.5, -2.0])


def header(**entries: Any) -> bytes:
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
WRONG = [
    (NPY, npy_body(np.ones(2)) + b"x", "trailing_bytes"),
    (NPY, npy_body(np.ones(2))[:-1], "truncated"),
    (NPY, npy_body(np.ones(1))[:6], "truncated"),
    (SAFETENSORS, header(x=F32), "truncated"),
    (SAFETENSORS, header(x=F32) + b"\0" * 5, "trailing_bytes"),
    (SAFETENSORS, header(x={**F32, "dtype": "F8"}) + b"\0" * 4, "bad_dtype"),
    (SAFETENSORS, header(x={**F32, "data_offsets": [4, 8]}) + b"\0" * 8, "bad_offsets"),
    (SAFETENSORS, header(x={"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}) + b"\2", "bad_value"),
    (SAFETENSORS, header(x={"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]}), "bad_shape"),
    (SAFETENSORS, header(x={"dtype": "F32", "shape": [1] * 40, "data_offsets": [0, 4]}) + b"\0" * 4, "bad_shape"),
    (SAFETENSORS, header(**{"": F32}) + b"\0" * 4, "bad_name"),
    (SAFETENSORS, header(__metadata__=3), "bad_header"),
    (SAFETENSORS, b"\xff" * 8, "truncated"),
    (NPZ, b"", "bad_zip"),
    (NPZ, npz(ARRAYS)[:-30], "bad_zip"),
]


@pytest.mark.parametrize(("media", "body", "code"), WRONG, ids=range(len(WRONG)))
def test_hostile_bodies_are_refused(media: str, body: bytes, code: str) -> None:
    with pytest.raises(ApiError) as refused:
        read_arrays(body, media, LIMITS)
    assert isinstance(refused.value, Invalid | TooLarge)
    assert refused.value.code == code
    assert refused.value.findings[0].code == code


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    body = npz({"x": np.zeros(10**7)}, np.savez_compressed)
    with pytest.raises(TooLarge) as refused:
        read_arrays(body, NPZ, LIMITS)
    assert refused.value.code == "ratio_too_large"


@pytest.mark.parametrize("name", BODIES)
def test_no_cut_or_flipped_body_breaks_the_reader(name: str) -> None:
    media, body = BODIES[name]
    chance, statuses = np.random.default_rng(0), set()
    for _ in range(300):
        broken = bytearray(body[: chance.integers(0, len(body) + 1)])
        if broken:
            broken[chance.integers(0, len(broken))] ^= 1 << chance.integers(0, 8)
        try:
            read_arrays(bytes(broken), media, LIMITS)
        except ApiError as error:
            statuses.add(error.status)
    assert statuses <= {413, 422}


def test_other_types_are_not_read() -> None:
    with pytest.raises(UnsupportedMedia):
        read_arrays(b"", "text/plain", LIMITS)
