"""The columns option of CSV files."""

import pytest

from app.ingest.csv_header import ColumnSelection, Source, parse_columns_spec
from app.ingest.limits import IngestError
from app.ingest.values import ColumnPlan


def chosen(name, dtype, shape=(), *sources):
    return ColumnSelection(ColumnPlan(name, dtype, shape), tuple(sources) or None)


X4, LABEL = ("x", "float32", (4,)), chosen("y", "int64")
PARSED = {
    "y:int64": [LABEL],
    "x:float32[4],y:int64": [chosen(*X4), LABEL],
    "img:uint8[8,8],s:class": [chosen("img", "uint8", (8, 8)), chosen("s", "class")],
    "y:int64=label": [chosen("y", "int64", (), Source("label"))],
    "x:float32[4]=a,b,c,d,y:int64": [chosen(*X4, *map(Source, "abcd")), LABEL],
    "x:float32[4]=a..d,y:int64": [chosen(*X4, Source("a..d")), LABEL],
    "x:float32[4]=a..c,e": [chosen(*X4, Source("a..c"), Source("e"))],
    "y:int64,x:float32[2,2]=Sepal Length (cm),-,+,7": [
        LABEL,
        chosen("x", "float32", (2, 2), *map(Source, ("Sepal Length (cm)", "-", "+", "7"))),
    ],
    'x:float32[4]="a,b","c:int8",d': [chosen(*X4, Source("a,b"), Source("c:int8"), Source("d"))],
    'x:float32[4]="say ""hi"""': [chosen(*X4, Source('say "hi"'))],
    'x:float32[4]="a..b".."c"': [chosen(*X4, Source("a..b", "c"))],
    'x:float32[4]="a"..d': [chosen(*X4, Source("a", "d"))],
}

REFUSED = [
    "", ",", "x", "x:", ":int64", "x:int64,", "x:int64,,y:int64", "x:int64 ", " x:int64[2", "x:int64[]", "x:int64[0]",
    "x:int64[-1]", "x:int64[1_0]", "x:int64[\u0663]", "x:int64[2]y:int64", "x:complex64", "x:object", "x:class[2]",
    "x:FLOAT32", "x:int64[1234567]", "x:int64[" + "1," * 20 + "1]", "x:int64," * 10_000, "x:int64[2];y:int64",
    "x:int64\n", "x:int64=", "x:int64=a,", "x:int64=a,,b", "x:int64=,a", "x:int64=a=b", "x:int64=y:int64", 'x:int64="a',
    'x:int64="a"b', 'x:int64=a"b"', "x:int64=a..b:c,y:int64", "x=a", "=a", "x:int64[2]==a", "x:int64=[a]", 'x:int64=""',
]  # fmt: skip


@pytest.mark.parametrize("spec", PARSED)
def test_a_plan_is_read(spec):
    assert list(parse_columns_spec(spec)) == PARSED[spec]


@pytest.mark.parametrize("spec", REFUSED, ids=range(len(REFUSED)))
def test_anything_else_is_refused(spec):
    with pytest.raises(IngestError) as caught:
        parse_columns_spec(spec)
    assert caught.value.code == "bad_columns"
