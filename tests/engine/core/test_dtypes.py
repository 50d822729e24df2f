"""The promotion table against PyTorch's, and the names of element types."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.core.dtypes import BFLOAT16, NAMES, Strength, computing_dtype, dtype_of, promote, result_type, to_float
from engine.core.errors import DTypeError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

CODES = dict(zip(["b", "u1", "i1", "i2", "i4", "i8", "bf", "f2", "f4", "f8"], NAMES, strict=True))
NUMBERS = {"bool": True, "int64": 3, "float32": 1.5}

# torch.result_type of PyTorch 2.13: rows are the first operand, columns the second, in the order of CODES.
EQUALLY_STRONG = """
    b  | b  u1 i1 i2 i4 i8 bf f2 f4 f8
    u1 | u1 u1 i2 i2 i4 i8 bf f2 f4 f8
    i1 | i1 i2 i1 i2 i4 i8 bf f2 f4 f8
    i2 | i2 i2 i2 i2 i4 i8 bf f2 f4 f8
    i4 | i4 i4 i4 i4 i4 i8 bf f2 f4 f8
    i8 | i8 i8 i8 i8 i8 i8 bf f2 f4 f8
    bf | bf bf bf bf bf bf bf f4 f4 f8
    f2 | f2 f2 f2 f2 f2 f2 f4 f2 f4 f8
    f4 | f4 f4 f4 f4 f4 f4 f4 f4 f4 f8
    f8 | f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
"""
ARRAY_WITH_SCALAR = """
    b  | b  u1 i1 i2 i4 i8 bf f2 f4 f8
    u1 | u1 u1 u1 u1 u1 u1 bf f2 f4 f8
    i1 | i1 i1 i1 i1 i1 i1 bf f2 f4 f8
    i2 | i2 i2 i2 i2 i2 i2 bf f2 f4 f8
    i4 | i4 i4 i4 i4 i4 i4 bf f2 f4 f8
    i8 | i8 i8 i8 i8 i8 i8 bf f2 f4 f8
    bf | bf bf bf bf bf bf bf bf bf bf
    f2 | f2 f2 f2 f2 f2 f2 f2 f2 f2 f2
    f4 | f4 f4 f4 f4 f4 f4 f4 f4 f4 f4
    f8 | f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
"""
WITH_NUMBER = """
    b  | b  i8 f4
    u1 | u1 u1 f4
    i1 | i1 i1 f4
    i2 | i2 i2 f4
    i4 | i4 i4 f4
    i8 | i8 i8 f4
    bf | bf bf bf
    f2 | f2 f2 f2
    f4 | f4 f4 f4
    f8 | f8 f8 f8
"""


def _read(table: str, columns: list[str]) -> dict[tuple[str, str], str]:
    entries = {}
    for line in table.strip().splitlines():
        row, results = line.split("|")
        for column, result in zip(columns, results.split(), strict=True):
            entries[CODES[row.strip()], column] = CODES[result]
    return entries


SAME = _read(EQUALLY_STRONG, list(NAMES))
RULES = [
    (Strength.ARRAY, Strength.ARRAY, SAME),
    (Strength.SCALAR, Strength.SCALAR, SAME),
    (Strength.NUMBER, Strength.NUMBER, {pair: SAME[pair] for pair in itertools.product(NUMBERS, repeat=2)}),
    (Strength.ARRAY, Strength.SCALAR, _read(ARRAY_WITH_SCALAR, list(NAMES))),
    (Strength.ARRAY, Strength.NUMBER, _read(WITH_NUMBER, list(NUMBERS))),
    (Strength.SCALAR, Strength.NUMBER, _read(WITH_NUMBER, list(NUMBERS))),
]
CASES = [
    pytest.param((a, strong), (b, weak), wanted, id=f"{a}-{strong.name}-{b}-{weak.name}")
    for strong, weak, table in RULES
    for (a, b), wanted in table.items()
]
Side = tuple[str, Strength]


def _operand(side: Side) -> object:
    name, strength = side
    if strength is Strength.NUMBER:
        return NUMBERS[name]
    return tensor(np.ones((2,) if strength is Strength.ARRAY else (), dtype_of(name)))


@pytest.mark.slow
@each_row(("first", "second", "wanted"), CASES)
def test_operands_promote_as_in_pytorch(first: Side, second: Side, wanted: str) -> None:
    sides = [(dtype_of(name), strength) for name, strength in (first, second)]
    assert result_type(sides) == wanted
    assert result_type(reversed(sides)) == wanted
    product = OPS["mul"](_operand(first), _operand(second))
    assert product.dtype == product.numpy().dtype == wanted


def test_promotion_is_commutative_and_keeps_equal_types() -> None:
    for a, b in itertools.product(map(dtype_of, NAMES), repeat=2):
        assert promote(a, b) == promote(b, a)
        assert promote(a, a) == a


def test_a_number_keeps_its_digits_beside_a_float64_array() -> None:
    assert OPS["mul"](tensor(np.ones(1)), 0.1).numpy()[0] == 0.1


@each_row("name", NAMES)
def test_only_floats_stay_as_they_are_when_a_float_is_wanted(name: str) -> None:
    assert to_float(dtype_of(name)) == (name if "float" in name else "float32")


@each_row("name", [*NAMES, np.float32, np.dtype(">f4"), BFLOAT16, float, int, bool])
def test_a_known_element_type_is_found_in_native_order(name: object) -> None:
    assert dtype_of(name).name in NAMES
    assert dtype_of(name).isnative


@each_row("name", ["flot32", "f8", "complex64", "object", "str", "uint32", "datetime64[s]", "V2", 3])
def test_another_element_type_is_refused(name: object) -> None:
    with pytest.raises(DTypeError, match="is not one of bool, uint8"):
        dtype_of(name)


def test_a_misspelt_element_type_gets_a_hint() -> None:
    with pytest.raises(DTypeError, match="did you mean 'float32'"):
        dtype_of("flot32")


@each_row("name", NAMES)
def test_half_types_are_computed_in_float32(name: str) -> None:
    assert computing_dtype(dtype_of(name)) == ("float32" if name in ("float16", "bfloat16") else name)


@pytest.mark.slow
def test_without_its_package_bfloat16_is_refused_with_what_to_install() -> None:
    code = """
import sys
from pathlib import Path
sys.modules["ml_dtypes"] = None
import engine
assert engine.tensor([1.0], dtype="float16").item() == 1
for make in (lambda: engine.tensor([1.0], dtype="bfloat16"), lambda: engine.ops.zeros(shape=(2,), dtype="bfloat16")):
    try:
        make()
    except engine.MissingExtra as error:
        print(error)
"""
    created = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert created.stdout.count("pip install 'adjoint-server[bfloat16]'") == 2


def test_bfloat16_stands_in_documents_and_checkpoints(tmp_path: Path) -> None:
    array = engine.read_tensor_document({"dtype": "bfloat16", "shape": [2], "data": [1.5, 0.1]})
    assert array.dtype is BFLOAT16
    assert engine.tensor_to_json(array) == {"dtype": "bfloat16", "shape": [2], "data": [1.5, 0.10009765625]}
    path = tmp_path / "some.safetensors"
    engine.Checkpoint({"w": array}).save(path)
    assert b'"BF16"' in path.read_bytes()
    loaded = engine.Checkpoint.load(path).parameters["w"]
    assert loaded.dtype is BFLOAT16
    assert loaded.tobytes() == array.tobytes()
