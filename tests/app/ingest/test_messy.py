"""Messy CSV files: what is read equals what a careful reader would say, or the file is refused."""

from math import nan

import numpy as np
import pytest

from tests.app.ingest.messy import MESSY


@pytest.mark.parametrize("name", MESSY)
def test_nothing_is_read_wrong(name, read, refusal):
    case = MESSY[name]
    data = case.text if isinstance(case.text, bytes) else case.text.encode()
    if case.refused is not None:
        error = refusal(data, "csv", case.spec, header=case.header)
        assert (error.code, error.pointer) == case.refused, error.detail
        return
    check(read(data, "csv", case.spec, header=case.header), case.columns)


@pytest.mark.parametrize("size", [1, 12])
def test_no_column_depends_on_how_the_file_is_cut_into_blocks(size, read, monkeypatch):
    monkeypatch.setattr("app.ingest.csv_records._BLOCK_BYTES", size)
    for case in MESSY.values():
        if case.refused is None:
            check(read(case.text.encode(), "csv", case.spec, header=case.header), case.columns)


def check(result, expected):
    assert [column.name for column in result.columns] == list(expected)
    for column, (dtype, values) in zip(result.columns, expected.values(), strict=True):
        array = np.load(column.path)
        assert column.dtype == array.dtype.name
        if dtype == "class":
            assert [column.classes[code] if code >= 0 else None for code in array] == values
        else:
            assert (column.dtype, column.classes) == (dtype, None)
            np.testing.assert_array_equal(array, np.array(values, dtype))


ADVICE = {
    "the nearest name": (b"sepal,petal\n1,2\n", "x:float32=sepl", "'sepal'"),
    "a range to write": (b"p,q\n1,2\n", "x:float32[2]", "x:float32[2]=FIRST..LAST"),
    "the option": (b"2019\n1.5\n", None, "header=true or header=false"),
    "how numbers are written": (b'a\n"1,234"\n', None, "1234.5"),
    "how to declare classes": (b'a\n"1,234"\n', None, "NAME:class"),
    "what is done with ids": (b"a\n12345678901234567890\n", None, "class"),
}


@pytest.mark.parametrize("name", ADVICE)
def test_an_error_says_what_to_do(name, refusal):
    data, spec, advice = ADVICE[name]
    assert advice in refusal(data, "csv", spec).detail


@pytest.mark.parametrize("seed", range(8))
def test_every_number_is_kept_as_it_was_written_or_the_column_is_refused(seed, read, refusal):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        cells = [encode(rng) for _ in range(rng.integers(1, 6))]
        data = ("a,b\n" + "".join(f"{cell},1\n" for cell in cells)).encode()
        whole = [int(cell) for cell in cells if cell.isdigit()]
        fits = len(whole) == len(cells) and max(whole) < 2**63
        if not fits and any(int(float(number)) != number for number in whole):
            assert refusal(data, "csv").code == "precision_lost", cells
            continue
        column = read(data, "csv").columns[0]
        expected = [int(cell) if cell.isdigit() else float(cell or "nan") for cell in cells]
        np.testing.assert_equal(np.load(column.path).tolist(), expected, f"{cells} {column.dtype}")
        assert column.missing == cells.count("")


def encode(rng):
    """A number as files hold them: whole, of up to 20 digits, a fraction of up to 17, or missing."""
    kind = rng.integers(5)
    if kind < 2:
        return str(int(rng.integers(10 ** int(rng.integers(1, 19)))) * int(rng.choice([1, 1, 10])))
    if kind < 4:
        return f"{rng.normal() * 10.0 ** rng.integers(-3, 6):.{rng.integers(1, 18)}g}"
    return ""


DIALECTS = {
    "decimal commas": ("Größe;Ort\n1,5;Köln\n-2;\n", {"decimal": "comma"}, [[1.5, -2], ["Köln", None]]),
    "bars and quotes": ('a|b\n1|"x|y"\n2|"z ""q"""\n', {}, [[1, 2], ["x|y", 'z "q"']]),
    "words for missing values": ("a\tb\n?\tx\n3\tNA\n", {"missing": ("?", "NA")}, [[nan, 3], ["x", None]]),
}


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252"])
def test_dialects(name, encoding, read):
    text, options, expected = DIALECTS[name]
    result = read(text.replace("Größe", "a").replace("Ort", "b").encode(encoding), "csv", encoding=encoding, **options)
    for column, values in zip(result.columns, expected, strict=True):
        found = np.load(column.path).tolist()
        found = [column.classes[code] if code >= 0 else None for code in found] if column.classes else found
        assert np.array_equal(found, values, equal_nan=True) if column.classes is None else found == values


@pytest.mark.parametrize(
    ("data", "options", "code", "fix"),
    [
        (b"a;b\n1.234,5;1\n", {"decimal": "comma"}, "bad_number", "without them"),
        (b"a;b\n1,5;1\n", {}, "bad_number", "decimal=comma"),
        (b"a,b\n1,5\n", {"decimal": "comma", "delimiter": "comma"}, "conflict", "delimiter=semicolon"),
        (b"a,b\nK\xf6ln,5\n", {}, "bad_utf8", "encoding=windows-1252"),
        (b"PK\x03\x04xl/workbook.xml", {}, "bad_format", "export the sheet as CSV"),
    ],
)
def test_dialects_are_refused_with_advice(data, options, code, fix, refusal):
    error = refusal(data, "csv", **options)
    assert (error.code, fix in error.detail) == (code, True), error.detail
