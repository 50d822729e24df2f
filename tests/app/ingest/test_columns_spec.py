"""The columns option of CSV files."""

import pytest

from app.ingest.columns_spec import parse_columns_spec
from app.ingest.errors import IngestError
from app.ingest.values import ColumnPlan

PARSED = {
    "y:int64": [ColumnPlan("y", "int64")],
    "x:float32[4],y:int64": [ColumnPlan("x", "float32", (4,)), ColumnPlan("y", "int64")],
    "img:uint8[8,8],s:class": [ColumnPlan("img", "uint8", (8, 8)), ColumnPlan("s", "class")],
}

REFUSED = [
    "", ",", "x", "x:", ":int64", "x:int64,", "x:int64,,y:int64", "x:int64 ", " x:int64[2", "x:int64[]", "x:int64[0]",
    "x:int64[-1]", "x:int64[1_0]", "x:int64[\u0663]", "x:int64[2]y:int64", "x:complex64", "x:object", "x:class[2]",
    "x:FLOAT32", "x:int64[1234567]", "x:int64[" + "1," * 20 + "1]", "x:int64," * 10_000, "x:int64[2];y:int64",
    "x:int64\n",
]  # fmt: skip


@pytest.mark.parametrize("spec", PARSED)
def test_a_plan_is_read(spec):
    assert list(parse_columns_spec(spec)) == PARSED[spec]


@pytest.mark.parametrize("spec", REFUSED, ids=range(len(REFUSED)))
def test_anything_else_is_refused(spec):
    with pytest.raises(IngestError) as caught:
        parse_columns_spec(spec)
    assert caught.value.code == "bad_columns"
