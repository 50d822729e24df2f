"""CSV by pyarrow: column for column and message for message what the reader without it gives."""

from dataclasses import asdict
from functools import partial

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.ingest import arrow_columns, csv, csv_records
from app.ingest.ingest import read_file
from app.ingest.limits import IngestError, IngestLimits, IngestOptions
from tests.app.ingest.messy import MESSY
from tests.extent import FULL

pytest.importorskip("pyarrow")

NUMBERS = (
    "0", "-0", "+5", "007", "1", "-17", "1.5", ".5", "3.", "-0.0", "1e3", "2E-3", "1e400", "1e-400", "0e5", "0.000e+00",
    "9007199254740992", "9007199254740993", "16777217", "9223372036854775807", "9223372036854775808",
    "18446744073709551615", "123456789012345678901234567890", "0.1234567890123456789", "1e22", "1.7976931348623159e308",
    "5e-324", "2.4703282292062328e-324", "1e", "e5", "-", "+", ".", "1-2", "--1", "1.2.3", "1e5.5", "+.5e-3",
    "0." + "0" * 330 + "1", "0." + "0" * 330, "9" * 400, "0x1f", "0X1F", "1_000", " 5", "5 ", "1,234", "1,5", ",5",
    "1,", "1,5e3", "1.234", "1.234,5", "1 234", "inf", "-inf", "Infinity", "nan", "NaN", "-nan", "\u0661",
)  # fmt: skip
WORDS = ("", "", "NA", "N/A", "n/a", "#N/A", "null", "NULL", "?", "-", "None")
TEXTS = (
    "red", "green", "blue", "true", "false", "True", "yes", "no", "t", "on", "31.12.2024", "2024-01-02", "Größe",
    "12:30", "é", "a b", " a", "a ", "x,y", "x;y", "x\ty", 'say "hi"', '"', "a\nb", "a\rb", "$5", "5%",
    "=1+1", "\u2028", "\ufeff", "x" * 300,
)  # fmt: skip
KINDS = (NUMBERS[:12], NUMBERS, NUMBERS + WORDS, ("1", "2", "3"), ("1.5", "2.25", ""), ("0", "1"), WORDS, TEXTS)
KINDS = (*KINDS, TEXTS[:3], TEXTS[3:6], TEXTS + WORDS, TEXTS + NUMBERS, ("yes", "no", ""), ("1,5", "2", "-,5", ""))
JUNK = (b'"', b"\r", b"\n", b"\n\n", b"\0", b"\xff", b"\xef\xbb\xbf", b",", b" ", b'""', b"\r\n", b"\xc3")
DTYPES = ("int64", "uint64", "int8", "float32", "float64", "bool", "class")


@st.composite
def files(draw):
    """The bytes of a file, the options to read it with, and the bytes of a block."""
    mark = draw(st.sampled_from(",;\t|"))
    width, rows = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    kinds = [draw(st.sampled_from(KINDS)) for _ in range(width)]
    quoting = draw(st.sampled_from(("needed", "all", "some", "none")))
    table = [[draw(st.sampled_from(kind)) for kind in kinds] for _ in range(rows)]
    names = [f"column{place}" for place in range(width)]
    end = draw(st.sampled_from(("\n", "\n", "\r\n", "\r")))
    lines = [mark.join(_cell(cell, mark, quoting, draw) for cell in row) for row in [names, *table]]
    text = end.join(lines) + draw(st.sampled_from((end, "", end + end)))
    encoding = draw(st.sampled_from(("utf-8", "utf-8", "utf-8", "latin-1", "windows-1252")))
    data = draw(st.sampled_from((b"", b"", b"\xef\xbb\xbf"))) + text.encode(encoding, "replace")
    if draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(0, len(data)))
        data = data[:place] + draw(st.sampled_from(JUNK)) + data[place:]
    options = IngestOptions(
        columns_spec=draw(st.none() | _specs(names)),
        header=draw(st.sampled_from(("auto", "true", "false"))),
        missing=draw(st.sampled_from(((), (), ("?",), ("NA", "-", "red"), ("1",)))),
        delimiter=draw(st.sampled_from((mark, "auto"))),
        decimal=draw(st.sampled_from(("point", "point", "comma"))),
        encoding=draw(st.sampled_from((encoding, "utf-8"))),
    )
    return data, options, draw(st.sampled_from((1, 30, 100, 1 << 20)))


FAULTLESS = (
    ("1", "-17", "007"),
    ("1.5", "-2.25e3", "0"),
    ("", "NA", "1.5"),
    ("red", "größe", ""),
    ("2024-01-02", "a b"),
)
ODD = (*NUMBERS, *WORDS, *TEXTS)


@st.composite
def wide_files(draw):
    """Files of many columns, most of them faultless, as `files` has them of few."""
    random = draw(st.randoms(use_true_random=False))
    width, rows = random.randint(50, 200), random.randint(1, 8)
    kinds = [random.choice(FAULTLESS) for _ in range(width)]
    table = [[random.choice(kind) for kind in kinds] for _ in range(rows)]
    for _ in range(random.choice((0, 0, 1, 3))):
        random.choice(table)[random.randrange(width)] = random.choice(ODD)
    some = random.choice(("needed", "all"))
    lines = [",".join(_cell(cell, ",", some, draw) for cell in row) for row in table]
    data = "\n".join([",".join(f"column{place}" for place in range(width)), *lines, ""]).encode()
    group = f"x:float32[{width}]=column0..column{width - 1}"
    spec = random.choice((None, None, group, ",".join(f"column{place}" for place in range(0, width, 3))))
    options = IngestOptions(spec, missing=random.choice(((), ("red",), ("1.5", "NA"))))
    return data, options, random.choice((1, 1000, 4000, 1 << 20))


def _cell(cell, mark, quoting, draw):
    quoted = '"' + cell.replace('"', '""') + '"'
    if quoting == "all" or (quoting == "some" and draw(st.booleans())):
        return quoted
    return quoted if quoting == "needed" and not set(cell).isdisjoint({mark, '"', "\n", "\r"}) else cell


def _specs(names):
    single = st.lists(st.sampled_from(DTYPES), min_size=1, max_size=len(names)).map(
        lambda dtypes: ",".join(f"{name}:{dtype}" for name, dtype in zip(names, dtypes, strict=False))
    )
    grouped = st.sampled_from(DTYPES[:-1]).map(lambda dtype: f"x:{dtype}[{len(names)}]={names[0]}..{names[-1]}")
    return single | grouped


def outcome(folder, data, options):
    """What becomes of a file: the error, or the columns with the bytes of their values."""
    folder.mkdir()
    (folder / "upload").write_bytes(data)
    target = folder / "columns"
    target.mkdir()
    try:
        result = read_file(folder / "upload", "csv", target, options, IngestLimits())
    except IngestError as error:
        return error.code, error.pointer, error.detail, error.limit
    # As texts: NaN is not equal to itself.
    columns = [str({**asdict(column), "path": column.path.name}) for column in result.columns]
    return result.rows, columns, [column.path.read_bytes() for column in result.columns]


@pytest.fixture
def compare(tmp_path_factory, monkeypatch):
    """`compare(data, options, block)`: read by pyarrow from the first block on, and without it."""
    monkeypatch.setattr(csv, "ARROW_BYTES", 0)
    monkeypatch.setattr(csv_records, "_COLUMN_BYTES", 0)

    def outcomes(data, options, block):
        monkeypatch.setattr(csv_records, "_BLOCK_BYTES", block)
        folder = tmp_path_factory.mktemp("files")
        with_arrow = outcome(folder / "arrow", data, options)
        with monkeypatch.context() as without:
            without.setattr(csv, "load_arrow", lambda: None)
            return with_arrow, outcome(folder / "plain", data, options)

    return outcomes


@settings(max_examples=300 if FULL else 150, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=files())
@example(case=(b'a\n"x"\n"y""z"\n', IngestOptions(), 1 << 20))
@example(case=(b"a,b\n1,2\n\n3,4\n", IngestOptions(), 1))
@example(case=(b"a\n\xef\xbb\xbf1\n2\n", IngestOptions(), 4))
@example(case=(b"a,b\n1,-0\n1.5,-0\n", IngestOptions("x:float32[2]=a,b"), 1 << 20))
@example(case=(b"a,b\n+5,0.5\n-0,1\n", IngestOptions("x:float64[2]=a,b"), 1))
@example(case=(b"a;b\n1,5;2\n1.234;3\n", IngestOptions(delimiter=";", decimal="comma"), 1 << 20))
@example(case=(b"a,b\n1e400,1\n1.5,2\n", IngestOptions("x:float64[2]=a,b"), 1 << 20))
@example(case=(b"a,b\ninf,1\n1.5,2\n", IngestOptions("x:float64[2]=a,b"), 1 << 20))
@example(case=(b"a,b\n-5,1\n3,2\n", IngestOptions("x:uint64[2]=a,b"), 1 << 20))
@example(case=(b"a\n9007199254740993\n1.5\n", IngestOptions(), 1 << 20))
@example(case=(b'a\n1\n""\n3\n', IngestOptions("a:int64"), 1 << 20))
def test_a_file_is_read_or_refused_as_without_pyarrow(case, compare):
    with_arrow, without = compare(*case)
    assert with_arrow == without


def wide_file_with(cell: str) -> tuple[bytes, IngestOptions, int]:
    """Return a case of `wide_files` in which one cell is out of the ordinary."""
    header = ",".join(f"column{place}" for place in range(60))
    rows = [",".join(["red"] * 60), ",".join(["red"] * 20 + [cell] + ["blue"] * 39)]
    return "\n".join([header, *rows, ""]).encode(), IngestOptions(), 1 << 20


@settings(max_examples=60 if FULL else 30, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=wide_files())
@example(case=wide_file_with('in"ch"es'))
@example(case=wide_file_with('"inch"es'))
def test_a_wide_file_is_read_or_refused_as_without_pyarrow(case, compare):
    with_arrow, without = compare(*case)
    assert with_arrow == without


@pytest.mark.parametrize("block", [1, 12, 1 << 20])
def test_messy_files_are_read_or_refused_as_without_pyarrow(block, compare):
    for name, case in MESSY.items():
        data = case.text if isinstance(case.text, bytes) else case.text.encode()
        with_arrow, without = compare(data, IngestOptions(case.spec, header=case.header), block)
        assert with_arrow == without, name


USUAL = {
    "numbers": "a,b\n" + "1.5,2\n-2.25e3,3\n" * 200,
    "missing numbers": "a,b\n" + "1.5,2\nNA,\n" * 200,
    "texts": "a,b\n" + "red,1\nblue,2\n" * 200,
    "quotes": "a,b\n" + '"red, or ""blue""",1\n"","2"\n' * 200,
    "CRLF": "a,b\r\n" + "red,1\r\nblue,2\r\n" * 200,
    "zeros with exponents": "a\n" + "0.000000000000000000e+00\n1.500000000000000000e+00\n" * 200,
    "decimal commas": "a;b\n" + "1,5;y\n,25;x\n" * 200,
    "Latin-1": "a,b\n" + "größe,1\nfarbe,2\n" * 200,
}


@pytest.mark.parametrize("name", USUAL)
def test_usual_files_are_read_by_pyarrow(name, compare, monkeypatch):
    taken = []
    reads = csv._add_arrays
    monkeypatch.setattr(csv, "_add_arrays", lambda *given: taken.append(reads(*given)) or taken[-1])
    decimal = "comma" if "commas" in name else "point"
    encoding = "latin-1" if "Latin" in name else "utf-8"
    options = partial(IngestOptions, decimal=decimal, encoding=encoding)
    with_arrow, without = compare(USUAL[name].encode(encoding), options(), 1 << 8)
    assert with_arrow == without
    # A column of texts is one from its second block on.
    assert taken.count(False) <= 2
    assert taken.count(True) >= 4


def test_a_file_of_2000_columns_is_read_by_pyarrow(compare, monkeypatch):
    taken = []
    reads = csv._add_arrays
    monkeypatch.setattr(csv, "_add_arrays", lambda *given: taken.append(reads(*given)) or taken[-1])
    header = ",".join(f"c{place}" for place in range(2000))
    row = ",".join(["1.5", "2", "red", "2024-01-02", ""] * 400)
    data = "\n".join([header, *[row] * 8, ""]).encode()
    with_arrow, without = compare(data, IngestOptions(), 2 * len(row))
    assert with_arrow == without
    # The first blocks of the columns of texts show that they are such.
    assert taken.count(False) == 800
    assert taken.count(True) >= 2000 * 2


def test_blank_and_ragged_lines_are_found_between_records_that_pyarrow_reads(compare):
    for fault in ("\n", "1\n", "1,2,3\n", '"1,2\n', "1,\0\n"):
        data = ("a,b\n" + "1,2\n" * 500 + fault + "1,2\n" * 500).encode()
        with_arrow, without = compare(data, IngestOptions(), 1 << 9)
        assert with_arrow == without
        assert "line 502" in with_arrow[2]


def test_other_readers_do_not_load_pyarrow_for_small_files(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "load_arrow", lambda: pytest.fail("pyarrow is loaded"))
    assert outcome(tmp_path / "small", b"a,b\n1,2\n", IngestOptions())[0] == 1
    assert arrow_columns.load_arrow() is not None
