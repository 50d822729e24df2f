"""CSV files as people have them: the text, the options, and what a careful reader makes of it.

What is expected is either the columns, each a dtype and values (texts stand for the classes of a column), or the code
and the pointer with which the file is refused.
"""

from dataclasses import dataclass, field
from math import nan
from typing import Any


@dataclass(frozen=True)
class Messy:
    """One file: `columns` by name with dtype and values, or the `refused` code and pointer."""

    text: str | bytes
    columns: dict[str, tuple[str, list[Any]]] = field(default_factory=dict)
    refused: tuple[str, str] | None = None
    spec: str | None = None
    header: str = "auto"


def taken(text, spec=None, header="auto", /, **columns):
    return Messy(text, columns, None, spec, header)


def refused(text, code, pointer, spec=None, header="auto"):
    return Messy(text, {}, (code, pointer), spec, header)


def cells(*values, name="a"):
    """A file of one column."""
    return "\n".join((name, *values)) + "\n"


FLOWERS = "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n"
NAMED = "length,width,species\n" + FLOWERS
LENGTH, WIDTH = ("float64", [5.1, 4.9, 6.3]), ("float64", [3.5, 3.0, 3.3])
SPECIES = ("class", ["setosa", "setosa", "virginica"])
PAIRS = ("float32", [[5.1, 3.5], [4.9, 3.0], [6.3, 3.3]])
TWISTED = ("float64", [[3.5, 5.1], [3.0, 4.9], [3.3, 6.3]])

MESSY = {
    # Which line is the header
    "header, no options": taken(NAMED, length=LENGTH, width=WIDTH, species=SPECIES),
    "header, groups by name": taken(NAMED, "x:float32[2]=length,width,species:class", x=PAIRS, species=SPECIES),
    "header, a range": taken(NAMED, "x:float32[2]=length..width,y:class=species", x=PAIRS, y=SPECIES),
    "header, the order asked for": taken(NAMED, "x:float64[2]=width,length", x=TWISTED),
    "header, some columns": taken(NAMED, "species:class", species=SPECIES),
    "header, a misspelt name": refused(NAMED, "bad_columns", "/columns", "specis:class"),
    "header, a misspelt source": refused(NAMED, "bad_columns", "/columns", "x:float32[2]=lenght,width"),
    "header, a name without its source": refused(NAMED, "bad_columns", "/columns", "x:float32[2],species:class"),
    "header, too few sources": refused(NAMED, "bad_columns", "/columns", "x:float32[3]=length,width"),
    "header, too many sources": refused(NAMED, "bad_columns", "/columns", "x:float32=length..width"),
    "header, a source twice": refused(NAMED, "bad_columns", "/columns", "x:float32[2]=length,length"),
    "header, a range turned around": refused(NAMED, "bad_columns", "/columns", "x:float32[2]=width..length"),
    "header, none said": refused(NAMED, "mixed_types", "/columns/column_1", None, "false"),
    "header, none said and names": refused(NAMED, "bad_columns", "/columns", "y:class=species", "false"),
    "no header": taken(FLOWERS, column_1=LENGTH, column_2=WIDTH, column_3=SPECIES),
    "no header, groups by place": taken(FLOWERS, "x:float32[2],species:class", x=PAIRS, species=SPECIES),
    "no header, fewer cells asked for": refused(FLOWERS, "bad_columns", "/columns", "x:float32[2]"),
    "no header, one said": refused("5.1,setosa\n4.9,setosa\n", "bad_name", "/columns", "x\x7f:class=setosa", "true"),
    "no header, whole numbers": taken("3,1,4\n1,5,9\n", "x:int64[3]", x=("int64", [[3, 1, 4], [1, 5, 9]])),
    "no header, the same number twice": taken("0,0\n1,2\n", column_1=("int64", [0, 1]), column_2=("int64", [0, 2])),
    "no header, only texts": refused("a,b\nb,a\na,b\n", "header_unclear", "/header"),
    "no header, only texts, said": taken("a\nb\na\n", None, "false", column_1=("class", ["a", "b", "a"])),
    "header over texts": taken("name\nann\nbob\n", name=("class", ["ann", "bob"])),
    "header over the same text and a number": taken("a,b\na,1\n", a=("class", ["a"]), b=("int64", [1])),
    "header over the same text, said": taken("a\na\nb\n", None, "true", a=("class", ["a", "b"])),
    "header of years": refused("2019,2020\n1.5,2.5\n", "header_unclear", "/header"),
    "header of years, by place": refused("2019,2020\n1.5,2.5\n", "header_unclear", "/header", "x:float32[2]"),
    "header of years, by name": taken("2019,2020\n1.5,2.5\n", "x:float32[2]=2019..2020", x=("float32", [[1.5, 2.5]])),
    "header of pandas": refused("0,1,2\n7,8,9\n", "header_unclear", "/header", "x:int64[3]"),
    "header of pandas, said": taken("0,1\n7,8\n", "x:int64[2]=0,1", "true", x=("int64", [[7, 8]])),
    "index of pandas": taken(",a\n0,5\n", column_1=("int64", [0]), a=("int64", [5])),
    "index of pandas, left out": taken(",a\n0,5\n", "a:int64", a=("int64", [5])),
    "header of labels": taken(
        "Länge (cm),100 %, b ,a b,A B,年\n1,2,3,4,5,6\n", Lange_cm_ab25d1=("int64", [1]), _100_5e1636=("int64", [2]),
        b=("int64", [3]), a_b_c8687a=("int64", [4]), A_B_fea4c5=("int64", [5]), u5e74_62ef90=("int64", [6]),
    ),
    "header of years, said": taken(
        "2019,2020\n1,2\n", None, "true", _2019_023e33=("int64", [1]), _2020_73a2af=("int64", [2])
    ),
    "a label by its identifier": taken("a b\n1\n", "x:int64=a_b_c8687a", x=("int64", [1])),
    "a label asked for": taken(
        "a b,c=d\n1,2\n", 'a b:int64,"c=d":int64', a_b_c8687a=("int64", [1]), c_d_7c5817=("int64", [2])
    ),
    "labels of one identifier": refused("a b,a  b\n1,2\n", "duplicate_name", "/columns/a  b"),
    "header of other letters, renamed": taken("Länge (cm)\n1\n", "x:int64=Länge (cm)", x=("int64", [1])),
    "the same name twice": refused("a,a\n1,2\n", "duplicate_name", "/columns/a"),
    "the same name twice, asked for": refused("a,a,b\n1,2,3\n", "bad_columns", "/columns", "a:int64"),
    "the same name twice, not asked for": taken("a,a,b\n1,2,3\n", "b:int64", b=("int64", [3])),
    "days with points": taken(
        cells("31.12.2024", "1.2.24", "2024.12.31"), a=("class", ["31.12.2024", "1.2.24", "2024.12.31"])
    ),
    "only a header": refused("a,b\n", "no_rows", ""),
    "only a row": taken("1.5,2.5\n", column_1=("float32", [1.5]), column_2=("float32", [2.5])),
    "nothing": refused("", "empty", ""),
    # Dialects
    "semicolons": taken("a;b\n1;2\n", a=("int64", [1]), b=("int64", [2])),
    "semicolons without a header": refused("1,5;2,5\n3,5;4,5\n", "delimiter_unclear", "/delimiter", None, "false"),
    "tabs": taken("a\tb\n1\t2\n", a=("int64", [1]), b=("int64", [2])),
    "byte order mark, CRLF": taken("\ufeffa,b\r\n1,2\r\n", a=("int64", [1]), b=("int64", [2])),
    "byte order mark without a header": taken("\ufeff1.5\r\n2\r\n", "a:float32", a=("float32", [1.5, 2])),
    "a delimiter at the end of rows": refused("a,b\n1,2,\n", "ragged", "/lines/2"),
    "a delimiter at the end of lines": taken(
        "a,b,\n1,2,\n", a=("int64", [1]), b=("int64", [2]), column_3=("float32", [nan])
    ),
    "a short row without a header": refused("1.5,2\n3\n", "ragged", "/lines/2"),
    "spaces behind commas": refused("a,b\n1, 2\n", "bad_number", "/columns/b"),
    "spaces behind texts": refused("a,b\nx ,1\nx,2\n", "bad_value", "/columns/a"),
    "spaces behind declared texts": taken("a\nx \nx\n", "a:class", a=("class", ["x ", "x"])),
    "line breaks in quotes": refused('a\n"x\ny"\n', "bad_value", "/columns/a"),
    "Latin 1": refused("a\ncafé\n".encode("latin-1"), "bad_utf8", "/lines/2"),
    # Numbers in other notations
    "thousands in quotes": refused(cells('"1,234"', '"5,678"'), "bad_number", "/columns/a"),
    "decimal commas in quotes": refused(cells('"2,5"', '"3,5"'), "bad_number", "/columns/a"),
    "decimal commas, declared a number": refused(cells('"2,5"'), "bad_number", "/columns/a", "a:float32"),
    "decimal commas, declared classes": taken(cells('"2,5"', '"2,5"'), "a:class", a=("class", ["2,5", "2,5"])),
    "currency": refused(cells("$5", "$7"), "bad_number", "/columns/a"),
    "per cent": refused(cells("5%", "7 %"), "bad_number", "/columns/a"),
    "accountants' negatives": refused(cells("(5)", "(7)"), "bad_number", "/columns/a"),
    "a typographic minus": refused(cells("\u22125", "\u22127"), "bad_number", "/columns/a"),
    "hexadecimal": refused(cells("0x1f", "0x20"), "bad_number", "/columns/a"),
    "Fortran's exponents": refused(cells("1D5", "2d-5"), "bad_number", "/columns/a"),
    "exponents": taken(cells("1e3", "-2.5E-1", "+.5"), a=("float32", [1000, -0.25, 0.5])),
    "infinity": refused(cells("1", "inf"), "bad_number", "/columns/a"),
    "text with digits": taken(cells("a1", "5 kg", "2024-01-02"), a=("class", ["a1", "5 kg", "2024-01-02"])),
    "text below numbers": refused(cells("1", "x"), "mixed_types", "/columns/a"),
    "numbers below text": refused(cells("x", "1"), "mixed_types", "/columns/a"),
    "ids with zeros in front": taken(cells("007", "7"), "a:class", a=("class", ["007", "7"])),
    # Missing values
    "missing numbers": taken("a,b\n1,x\n,y\nNA,x\nnull,y\n", a=("float32", [1, nan, nan, nan]), b=("class", [*"xyxy"])),
    "a missing text": taken("a,b\nx,1\n,2\n", a=("class", ["x", None]), b=("int64", [1, 2])),
    "texts after missing ones": taken("a,b\n,1\nx,2\n", a=("class", [None, "x"]), b=("int64", [1, 2])),
    "a missing text in a word": refused("a,b\nx,1\nNA,2\n", "missing_value", "/columns/a"),
    "a country called NA": taken(cells("DE", "NA"), "a:class", a=("class", ["DE", "NA"])),
    "a missing whole number, declared": refused("a,b\n1,1\n,1\n", "missing_value", "/columns/a", "a:int64,b:int64"),
    "a missing truth value": taken("a,b\ntrue,1\n,2\n", a=("float32", [1, nan]), b=("int64", [1, 2])),
    "a missing truth value, declared": refused("a,b\ntrue,1\nNA,2\n", "missing_value", "/columns/a", "a:bool"),
    # Truth values
    "truth values": taken(cells("true", "false"), a=("bool", [True, False])),
    "truth values of pandas": taken(cells("True", "True"), a=("bool", [True, True])),
    "truth values, declared classes": taken(cells("true", "false"), "a:class", a=("class", ["true", "false"])),
    "truth values, declared": taken(cells("yes", "F", "1", "off"), "a:bool", a=("bool", [True, False, True, False])),
    "yes and no": taken(cells("yes", "no"), a=("class", ["yes", "no"])),
    "truth values and another word": taken(cells("true", "maybe"), a=("class", ["true", "maybe"])),
    "another word, declared bool": refused(cells("true", "maybe"), "bad_value", "/columns/a", "a:bool"),
    # Precision
    "Unix times 1.5 s apart": taken(
        cells("1700000000", "1700000001.5", "1700000003"), a=("float64", [1700000000, 1700000001.5, 1700000003])
    ),
    "16777217 beside a fraction": taken(cells("16777217", "0.5"), a=("float64", [16777217, 0.5])),
    "16777216 beside a fraction": taken(cells("16777216", "0.5"), a=("float32", [16777216, 0.5])),
    "16777217 beside a gap": taken("a,b\n16777217,1\n,1\n", a=("float64", [16777217, nan]), b=("int64", [1, 1])),
    "ids beside a gap": refused("a,b\n9007199254740993,1\n,1\n", "precision_lost", "/columns/a"),
    "a gap beside ids": refused("a,b\n,1\n9007199254740993,1\n", "precision_lost", "/columns/a"),
    "ids beside a gap, declared": taken("a\n9007199254740993\nnan\n", "a:float64", a=("float64", [2.0**53, nan])),
    "ids of 19 digits": taken(cells("9007199254740993"), a=("int64", [9007199254740993])),
    "ids of 20 digits": refused(cells("12345678901234567890", "12345678901234567891"), "precision_lost", "/columns/a"),
    "ids of 20 digits, declared": taken(
        cells(f"{2**64 - 1}", f"{2**64 - 2}"), "a:uint64", a=("uint64", [2**64 - 1, 2**64 - 2])
    ),
    "decimals": taken(cells("0.1", "0.25"), a=("float64", [0.1, 0.25])),
    "decimals, declared": taken(cells("0.1"), "a:float32", a=("float32", [0.1])),
    "large numbers": taken(cells("1e39"), a=("float64", [1e39])),
    "too large a number": refused(cells("1e309"), "number_out_of_range", "/columns/a"),
    "too small a number": refused(cells("1e-400"), "number_out_of_range", "/columns/a"),
    "a zero with an exponent": taken(cells("0e-400", "0.5"), a=("float32", [0, 0.5])),
}  # fmt: skip
