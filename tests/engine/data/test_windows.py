"""Windows over rows, against a loop that makes each of them."""

import numpy as np
import pytest

from engine.core.errors import DataError
from engine.core.options import Reader, read_options
from engine.data.source import open_source
from engine.data.windows import Windows
from tests.support.rows import each_row

ROWS = 23
SERIES = np.array([3] * 7 + [1] * 2 + [3] * 9 + [2] * 5)
COLUMNS = {"text": np.arange(ROWS) * 10, "pair": np.arange(ROWS * 2.0).reshape(ROWS, 2), "series": SERIES}
INPUTS = {"x": "text", "y": "text", "z": "pair", "plain": "pair"}

TABLE = [
    {},
    {"stride": 4},
    {"spans": {"x": [0, 3], "y": [1, 4]}},
    {"spans": {"x": [0, 3], "y": 3}, "stride": 2},
    {"spans": {"x": [2, 5], "z": [0, 2], "plain": 6}, "stride": 3},
    {"spans": {"z": [0, 1]}, "stride": 1},
    {"spans": {"x": [0, 23]}},
]


def read(document):
    reader = Reader()
    windows = read_options(reader, document, "/windows", Windows)
    return windows, [(finding.pointer, finding.detail) for finding in reader.findings]


def by_loop(document, within):
    """Make every window, one row and one span after the other."""
    spans, stride = document.get("spans", {}), document.get("stride", 1)
    length = max([span + 1 if isinstance(span, int) else span[1] for span in spans.values()] or [1])
    runs, first = [], 0
    for row in range(1, ROWS + 1):
        if row == ROWS or (within and SERIES[row] != SERIES[row - 1]):
            runs.append((first, row))
            first = row
    examples = []
    for begin, end in runs:
        for start in range(begin, end - length + 1, stride):
            example = {}
            for name, column in INPUTS.items():
                span = spans.get(name, 0)
                rows = COLUMNS[column]
                one = isinstance(span, int)
                example[name] = rows[start + span] if one else rows[start + span[0] : start + span[1]]
            examples.append(example)
    return examples


@each_row("within", [False, True])
@each_row("document", TABLE)
@each_row("sharded", [False, True])
def test_windows_are_those_that_a_loop_makes(document, within, sharded):
    if within and document == TABLE[-1]:
        document = {"spans": {"x": [0, 9]}}
    windows, faults = read({**document, **({"within": "series"} if within else {})})
    assert not faults
    columns = {n: [c[:5], c[5:6], c[6:]] if sharded else c for n, c in COLUMNS.items()}
    source = open_source(columns, INPUTS, windows)
    expected = by_loop(document, within)
    assert source.count == len(expected)
    assert source.count == windows.count(ROWS) or within
    order = np.random.default_rng(0).permutation(source.count)
    for examples in (order, np.arange(source.count)):
        found = source.read(examples)
        for name in INPUTS:
            np.testing.assert_array_equal(found[name], np.stack([expected[k][name] for k in examples]))
            assert windows.example_shape(name, COLUMNS[INPUTS[name]].shape[1:]) == source.spec(name).shape
            assert source.rows_of(name, order[:2]).tolist() == rows_seen(windows, source.starts[order[:2]], name)


def rows_seen(windows, starts, name):
    span = windows.spans.get(name, 0)
    return sorted({int(s) + t for s in starts for t in ([span] if isinstance(span, int) else range(*span))})


def test_windows_go_into_targets_that_are_no_block_of_memory():
    into = np.zeros((4, 2, 3), np.float32).transpose(0, 2, 1)
    source = open_source(COLUMNS, {"x": "pair"}, Windows(spans={"x": (0, 3)}))
    source.gather(np.arange(4), {"x": into})
    np.testing.assert_array_equal(into, np.stack([COLUMNS["pair"][k : k + 3] for k in range(4)]))


@each_row("rows", range(8))
@each_row("stride", [1, 2, 5])
def test_the_number_of_windows_is_known_without_data(rows, stride):
    windows = Windows(spans={"x": (1, 3)}, stride=stride)
    assert windows.count(rows) == len(range(0, rows - 2, stride))


def test_series_are_distinguished_across_chunks(monkeypatch):
    monkeypatch.setattr("engine.data.windows.CHUNK", 4)
    for values in (SERIES, SERIES.astype("U2"), SERIES * 0.5):
        source = open_source({"x": np.arange(ROWS), "s": values}, {"x": "x"}, Windows(spans={"x": (0, 5)}, within="s"))
        assert source.starts.tolist() == [0, 1, 2, 9, 10, 11, 12, 13, 18]


@each_row(
    ("document", "pointer", "message"),
    [
        ({"stride": 0}, "/windows/stride", "at least 1"),
        ({"spans": {"x": [3, 3]}}, "/windows/spans/x", "start < end"),
        ({"spans": {"x": [-1, 3]}}, "/windows/spans/x", "start < end"),
        ({"spans": {"a/b": -1}}, "/windows/spans/a~1b", "a row from 0 on"),
        ({"spans": {"x": [0, 2**32]}}, "/windows/spans/x", "2147483648"),
        ({"spans": {"x": True}}, "/windows/spans/x", "must be an integer or a list"),
        ({"spans": {"x": [1, 2, 3]}}, "/windows/spans/x", "must be an integer or a list"),
        ({"spans": [1]}, "/windows/spans", "must be an object"),
        ({"span": {}}, "/windows/span", "did you mean 'spans'"),
    ],
)
def test_faulty_windows_are_findings(document, pointer, message):
    _, ((place, detail),) = read(document)
    assert place == pointer
    assert message in detail


@pytest.mark.parametrize(
    ("windows", "pointer", "message"),
    [
        (Windows(spans={"zz": 1}), "/spans/zz", "no input called 'zz'"),
        (Windows(within="serie"), "/within", "no column called 'serie'; did you mean 'series'"),
        (Windows(spans={"x": (0, 24)}), "/spans", "takes 24 rows in order, but there are 23"),
    ],
)
def test_windows_that_do_not_fit_are_found_before_and_when_a_source_is_opened(windows, pointer, message):
    ((place, detail),) = windows.problems(INPUTS, COLUMNS, ROWS)
    assert place == pointer
    assert message in detail
    with pytest.raises(DataError) as refusal:
        open_source(COLUMNS, INPUTS, windows)
    assert message in str(refusal.value)


def test_columns_that_distinguish_no_series_are_refused():
    def opened(series):
        return open_source({"x": np.zeros(6), "s": series}, {"x": "x"}, Windows(spans={"x": (0, 3)}, within="s"))

    for series, message in [
        (np.arange(6), "no window of 3 rows fits within column 's', where the longest run of one value has 1"),
        (np.array([1, 1, 1, np.nan, 2, 2]), "column 's' holds NaN"),
        (np.zeros((6, 2)), "one value a row"),
        (np.zeros(5), "column 's' has 5 rows"),
    ]:
        with pytest.raises(DataError, match=message):
            opened(series)
