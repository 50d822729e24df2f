"""`.npy` files: what NumPy writes is taken, everything else is refused with a code."""

import io
import struct

import numpy as np
import pytest

from app.ingest.limits import IngestLimits

DTYPES = ["?", "i1", "u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">i8", "<u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]
SHAPES = [(1,), (5,), (3, 4), (2, 3, 4), (1, 1, 1, 1, 1, 1, 1, 2)]


def npy(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    # Writing only: some of these files must hold the pickles that the parser is to refuse.
    np.lib.format.write_array(file, array, version, allow_pickle=True)
    return file.getvalue()


def raw(header: str | bytes, data: bytes = b"", version: tuple[int, int] = (1, 0), length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else header.encode()
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes(version) + size + text + data


def described(descr: str = "'<f4'", order: str = "False", shape: str = "(2,)", data: bytes = bytes(8)) -> bytes:
    return raw(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n", data)


GOOD = described()

REFUSED = {
    "empty file": (b"", "empty"),
    "wrong magic": (b"\x93NUMPX" + GOOD[6:], "bad_magic"),
    "a pickle": (b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins", "bad_magic"),
    "only half a magic": (b"\x93NUM", "truncated"),
    "magic alone": (b"\x93NUMPY", "truncated"),
    "version 9.0": (raw("{}", version=(9, 0)), "bad_version"),
    "version 1.1": (raw("{}", version=(1, 1)), "bad_version"),
    "version 0.0": (raw("{}", version=(0, 0)), "bad_version"),
    "header length beyond the file": (raw("{}", length=60_000), "truncated"),
    "header of 4 GiB": (raw("{}", version=(2, 0), length=0xFFFFFFFF), "truncated"),
    "header of 70 KiB": (raw(" " * 70_000, version=(2, 0)), "header_too_large"),
    "header of spaces": (raw(" " * 60_000), "bad_header"),
    "header of open brackets": (raw("(" * 60_000), "bad_header"),
    "header of open braces": (raw("{" * 30_000 + "}" * 30_000), "bad_header"),
    "header that is not ASCII": (raw("{'descr': '<f4é'}", version=(3, 0)), "bad_header"),
    "header that is not UTF-8": (raw(b"{'descr': '\xff\xfe'}", version=(3, 0)), "bad_header"),
    "header with NUL": (described("'<f4\0'"), "bad_dtype"),
    "code in the header": (described(shape="(__import__('os').abort(),)"), "bad_header"),
    "a call in the header": (raw("{'descr': str(), 'fortran_order': False, 'shape': (2,)}", bytes(8)), "bad_header"),
    "arithmetic in the shape": (described(shape="(1+1,)"), "bad_header"),
    "shape as list": (described(shape="[2]"), "bad_header"),
    "shape without comma": (described(shape="(2)"), "bad_header"),
    "shape with a name": (described(shape="(n,)"), "bad_header"),
    "shape of digits of another script": (described(shape="(٢,)"), "bad_header"),
    "shape with underscore": (described(shape="(1_0,)"), "bad_header"),
    "shape with True": (described(shape="(True,)"), "bad_header"),
    "shape of commas": (described(shape="(,,)"), "bad_header"),
    "negative dimension": (described(shape="(-2,)"), "bad_header"),
    "two negative dimensions": (described(shape="(-1, -2)"), "bad_header"),
    "dimension of 5000 digits": (described(shape=f"({'9' * 5000},)"), "bad_header"),
    "fortran_order as number": (described(order="0"), "bad_header"),
    "fortran_order as text": (described(order="'False'"), "bad_header"),
    "descr as flag": (described("True"), "bad_header"),
    "key twice": (raw("{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}"), "bad_header"),
    "unknown key": (raw("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': True}"), "bad_header"),
    "missing key": (raw("{'descr': '<f4', 'shape': (1,)}", bytes(4)), "bad_header"),
    "missing comma": (raw("{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", bytes(4)), "bad_header"),
    "two dictionaries": (raw("{'descr': '<f4'}{'shape': (1,)}"), "bad_header"),
    "object array": (npy(np.array([{}, []], dtype=object)), "bad_dtype"),
    "object descr": (described("'|O'"), "bad_dtype"),
    "object descr of size 8": (described("'|O8'"), "bad_dtype"),
    "structured": (npy(np.zeros(3, dtype=[("a", "<f4"), ("b", "O")])), "bad_dtype"),
    "subarray": (described("('<f4', (2,))"), "bad_header"),
    "void of size 0 and 10^12 rows": (described("'|V0'", shape="(1000000000000,)", data=b""), "bad_dtype"),
    "bytes": (npy(np.array([b"ab"])), "bad_dtype"),
    "unicode": (npy(np.array(["ab"])), "bad_dtype"),
    "complex": (npy(np.ones(2, np.complex64)), "bad_dtype"),
    "long double": (described("'<f16'", data=bytes(32)), "bad_dtype"),
    "datetime": (npy(np.array(["2020-01-01"], dtype="M8[D]")), "bad_dtype"),
    "native byte order": (described("'=f4'"), "bad_dtype"),
    "no byte order on a wide type": (described("'|f4'"), "bad_dtype"),
    "numpy's name of a dtype": (described("'float32'"), "bad_dtype"),
    "scalar": (npy(np.array(3.0)), "no_rows"),
    "no rows": (npy(np.zeros((0, 3))), "no_rows"),
    "no values in a row": (npy(np.zeros((3, 0))), "bad_shape"),
    "rank 9": (npy(np.zeros((1,) * 9)), "bad_shape"),
    "rank 3000": (described(shape="(" + "1," * 3000 + ")"), "bad_shape"),
    "too many rows": (described("'|u1'", shape="(1000000001,)"), "too_many_rows"),
    "too many bytes": (described("'<f8'", shape="(1000000, 1000)"), "expanded_too_large"),
    "product that wraps to 0 in 64 bits": (described(shape="(4294967296, 4294967296)"), "too_many_rows"),
    "trailing product that wraps": (described(shape="(2, 4294967296, 4294967296)"), "expanded_too_large"),
    "one byte short": (GOOD[:-1], "truncated"),
    "no data": (described(data=b""), "truncated"),
    "one byte more": (GOOD + b"\0", "trailing_bytes"),
    "another file behind": (GOOD + GOOD, "trailing_bytes"),
    "a boolean of 2": (described("'|b1'", data=b"\1\2"), "bad_value"),
}


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
def test_other_spellings_of_a_header_are_read(header, read):
    assert read(raw(header, bytes(8)), "npy").rows == 2


def test_the_same_values_become_the_same_bytes_whatever_their_order(read):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    spellings = [array, np.asfortranarray(array), array.astype(">f4")]
    files = {read(npy(spelling), "npy").columns[0].path.read_bytes() for spelling in spellings}
    assert len(files) == 1


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
