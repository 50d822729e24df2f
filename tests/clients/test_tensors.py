import json

import numpy as np
import pytest

import engine
from adjoint_client.tensors import from_wire, to_wire


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_an_array_survives_the_way_through_json(dtype, shape):
    array = np.ones(shape, dtype)
    back = from_wire(json.loads(json.dumps(to_wire(array))))
    assert (back.shape, back.dtype) == (array.shape, array.dtype)
    np.testing.assert_array_equal(back, array)


def test_floats_come_back_to_the_bit():
    array = np.random.default_rng(0).normal(size=100).astype(np.float32)
    assert from_wire(json.loads(json.dumps(to_wire(array)))).tobytes() == array.tobytes()


def test_bfloat16_is_sent_as_it_is_and_comes_back_as_float32():
    document = to_wire(engine.tensor([1.5, -0.1], dtype="bfloat16").numpy())
    assert document == {"dtype": "bfloat16", "shape": [2], "data": [1.5, -0.10009765625]}
    assert from_wire(document).dtype == np.float32
    np.testing.assert_array_equal(from_wire(document), np.float32([1.5, -0.10009765625]))


def test_what_json_cannot_hold_is_put_back():
    document = {"dtype": "float32", "shape": [3], "data": [1, None, None], "nonfinite": {"1": "nan", "2": "-inf"}}
    np.testing.assert_array_equal(from_wire(document), np.array([1, np.nan, -np.inf], np.float32))


@pytest.mark.parametrize(("value", "error"), [(["a"], TypeError), ([np.nan], ValueError), ([np.inf], ValueError)])
def test_what_cannot_be_sent_is_refused(value, error):
    with pytest.raises(error):
        to_wire(value)
