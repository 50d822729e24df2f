"""safetensors files: stricter than the reference reader."""

import numpy as np
import pytest

from tests.security.corpus.safetensors import DTYPES, REFUSED, X, entry, file, raw


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_with_its_code(name, refusal):
    data, code = REFUSED[name]
    error = refusal(data, "safetensors")
    assert error.code == code, error.detail


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_keeps_its_values(dtype, arrays):
    array = np.arange(6).reshape(3, 2).astype(DTYPES[dtype])
    data = file({"x": entry(dtype, [3, 2], [0, array.nbytes])}, array.tobytes())
    np.testing.assert_array_equal(arrays(data, "safetensors")["x"], array)


def test_tensors_are_read_in_the_order_of_their_bytes(arrays):
    data = file(
        {"__metadata__": {"format": "np"}, "b": entry(offsets=[8, 16]), "linear_0.weight": entry()},
        np.arange(4, dtype="<f4").tobytes(),
    )
    read = arrays(data, "safetensors")
    assert list(read) == ["linear_0.weight", "b"]
    np.testing.assert_array_equal(read["b"], [2, 3])


def test_bfloat16_becomes_float32(arrays):
    bits = np.array([0x3F80, 0xC000, 0x7FC0], "<u2")
    read = arrays(file({"x": entry("BF16", [3], [0, 6])}, bits.tobytes()), "safetensors")["x"]
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, [1.0, -2.0, np.nan])


def test_padding_behind_the_header_is_taken(read):
    assert read(raw('{"x": ' + X + "}      ", bytes(8)), "safetensors").rows == 2
