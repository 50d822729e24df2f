"""Hostile `.npy` files by name: bytes, and the code with which they are refused."""

import io
import struct

import numpy as np

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
    "texts in tensors": (npy(np.array([["a"], ["b"]])), "bad_shape"),
    "no characters": (described("'<U1'", shape="(2,)", data=b"a\0\0\0\0\0\x11\0"), "bad_unicode"),
    "halves of characters": (described("'<U1'", shape="(1,)", data=b"\0\xd8\0\0"), "bad_value"),
    "nothing but empty texts": (npy(np.array(["", ""])), "missing_value"),
    "texts of no size": (described("'<U0'", shape="(1,)", data=b""), "bad_dtype"),
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
