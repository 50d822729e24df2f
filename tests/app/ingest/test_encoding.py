"""Arrays and documents as bodies."""

import io
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import engine
from adjoint_client.tensors import from_wire
from app.ingest.encoding import (
    CHUNK,
    POSITIONS_MAX,
    json_body,
    json_pieces,
    npy_body,
    safetensors_body,
    tensor_document,
)

ARRAYS = {
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 3), np.float32),
    "rows": np.arange(6, dtype=np.int64).reshape(2, 3),
    "flags": np.array([True, False]),
    "half": np.array([1.5, -2], np.float16),
    "columns first": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
    "brain": np.array([1.5, -2], ml_dtypes.bfloat16),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_tensor_reads_back_from_json(name: str) -> None:
    array = ARRAYS[name]

    response = json.loads(json_body({"x": tensor_document(array)}))["x"]

    assert (response["dtype"], response["shape"], response["nonfinite"]) == (array.dtype.name, list(array.shape), {})
    assert np.array(response["data"], np.float64).tolist() == array.astype(np.float64).reshape(-1).tolist()


def test_json_names_what_it_has_no_number_for() -> None:
    response: dict[str, Any] = json.loads(json_body(tensor_document(np.array([1, np.nan, -np.inf], np.float32))))

    assert response["data"] == [1, None, None]
    assert response["nonfinite"] == {"1": "nan", "2": "-inf"}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_reads_back_from_npy(name: str) -> None:
    array = ARRAYS[name]

    read = np.load(io.BytesIO(npy_body(array)))

    assert read.shape == array.shape
    assert read.astype(np.float64).tolist() == array.astype(np.float64).tolist()


def test_arrays_of_every_type_read_back_from_safetensors(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(safetensors_body(ARRAYS, {"answer": "{}"}))

    read, metadata = engine.read_tensors(tmp_path / "body")

    assert metadata == {"answer": "{}"}
    assert {n: (a.dtype, a.shape, a.tobytes()) for n, a in read.items()} == {
        n: (a.dtype, a.shape, a.tobytes()) for n, a in ARRAYS.items()
    }


MASKS = {
    "few": np.array([1, np.nan, -np.inf], np.float32),
    "all": np.full((4, CHUNK), np.nan),
    "halves": np.repeat(np.array([np.inf, -np.inf], np.float16), CHUNK),
    "every other": np.where(np.arange(2 * CHUNK + 1) % 2, np.nan, 1.5).astype(np.float32),
    "at the borders": np.where(abs(np.arange(3 * CHUNK) - CHUNK) < POSITIONS_MAX, np.inf, 0.0),
}


@pytest.mark.parametrize("name", [*ARRAYS, *MASKS])
def test_what_is_encoded_in_pieces_is_the_same_and_reads_back(name: str) -> None:
    array = {**ARRAYS, **MASKS}[name]
    encoded = b"".join(json_pieces({"losses": {"a": None}, "all": [{"x": array}], "none": {}}))
    assert encoded == json_body({"losses": {"a": None}, "all": [{"x": tensor_document(array)}], "none": {}})
    response = json.loads(encoded)["all"][0]["x"]
    for read in (from_wire(response), engine.read_tensor_document(response)):
        assert read.shape == array.shape
        assert np.array_equal(read.astype(np.float64), array.astype(np.float64), equal_nan=True)


def test_many_of_a_kind_take_one_entry() -> None:
    assert json.loads(json_body(tensor_document(MASKS["all"])))["nonfinite"] == {f"0-{4 * CHUNK - 1}": "nan"}
