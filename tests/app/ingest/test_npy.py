"""`.npy` files: what NumPy writes is taken, everything else is refused with a code."""

import gzip

import numpy as np
import pytest

from app.ingest.limits import IngestLimits
from tests.security.corpus.npy import DTYPES, GOOD, REFUSED, SHAPES, npy, raw


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_with_its_code(name, refusal):
    data, code = REFUSED[name]
    error = refusal(data, "npy")
    assert error.code == code
    assert error.detail


def test_every_cut_of_a_good_file_is_refused(refusal):
    assert {refusal(GOOD[:length], "npy").code for length in range(len(GOOD))} == {"empty", "truncated"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_shape_and_order_keeps_its_values(dtype, arrays):
    for shape in SHAPES:
        array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        for order in (array, np.asfortranarray(array)):
            np.testing.assert_array_equal(arrays(npy(order), "npy")["x"], array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_is_read(version, arrays):
    np.testing.assert_array_equal(arrays(npy(np.arange(3.0), version), "npy")["x"], [0, 1, 2])


@pytest.mark.parametrize(
    "header",
    [
        '{"shape":(2,),"descr":"<f4","fortran_order":False}',
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }" + " " * 50 + "\n",
        "{ 'shape' : ( 2 , ) , 'fortran_order' : True , 'descr' : '<f4' }",
    ],
)
def test_other_forms_of_a_header_are_read(header, read):
    assert read(raw(header, bytes(8)), "npy").rows == 2


def test_the_same_values_become_the_same_bytes_whatever_their_order(read):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    forms = [array, np.asfortranarray(array), array.astype(">f4")]
    files = {read(npy(form), "npy").columns[0].path.read_bytes() for form in forms}
    assert len(files) == 1


@pytest.mark.parametrize("rows", [3, 100_000])
def test_what_is_stored_as_a_column_is_one_without_being_written(read, rows):
    array = np.arange(rows, dtype=np.int32)
    for data, written in [(npy(array), False), (npy(array.astype(">i4")), True), (npy(array, (2, 0)), True),
                          (gzip.compress(npy(array)), True)]:  # fmt: skip
        column = read(data, "npy").columns[0]
        assert (column.path.name == "00000.npy") is written
        assert (column.minimum, column.maximum) == (0, rows - 1)
        assert column.path.read_bytes() == npy(array)


def test_a_large_fortran_array_is_turned_in_blocks(arrays, monkeypatch):
    monkeypatch.setattr("app.ingest.npy._GATHER_BYTES", 100)
    for shape in [(50, 7), (2, 60, 3), (3, 5, 7, 11)]:
        array = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        np.testing.assert_array_equal(arrays(npy(np.asfortranarray(array)), "npy")["x"], array)


def test_the_spool_of_a_fortran_array_does_not_stay(read):
    result = read(npy(np.asfortranarray(np.ones((3, 4)))), "npy")
    assert [path.name for path in result.columns[0].path.parent.iterdir()] == ["00000.npy"]


def test_statistics_span_blocks_and_leave_nan_out(read, monkeypatch):
    monkeypatch.setattr("app.ingest.npy.CHUNK_BYTES", 64)
    values = np.arange(1000.0)
    values[::7] = np.nan
    column = read(npy(values), "npy").columns[0]
    assert (column.minimum, column.maximum) == (1.0, 999.0)
    assert column.missing == 143
    assert column.mean == pytest.approx(np.nanmean(values))


def test_limits_are_the_callers(refusal):
    assert refusal(npy(np.zeros(11)), "npy", limits=IngestLimits(max_rows=10)).limit == 10
    assert refusal(npy(np.zeros(11)), "npy", limits=IngestLimits(max_expanded_bytes=80)).limit == 80
