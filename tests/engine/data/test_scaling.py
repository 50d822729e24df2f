"""Normalisation: statistics of the training rows alone, as NumPy's in float64 on all rows at once, and undone again."""

import tracemalloc

import numpy as np
import pytest

from engine.core.errors import CheckpointError, DataError
from engine.core.options import Reader
from engine.data.normalization import MinMax, Robust, Standard, fit_scales, read_normalize
from engine.data.scaling import Scales
from engine.data.source import open_source
from engine.data.windows import Windows
from tests.support.rows import each_row

pytestmark = pytest.mark.law

RANDOM = np.random.default_rng(4)
ROWS = 700
TABLES = {
    "plain": RANDOM.normal(size=(ROWS, 3)).astype(np.float32),
    "a large offset": (1e6 + RANDOM.normal(scale=0.5, size=(ROWS, 3))).astype(np.float32),
    "a very large offset": 1e9 + RANDOM.normal(scale=1e-3, size=(ROWS, 2, 2)),
    "a trend": np.linspace(-1e5, 1e5, ROWS),
    "integers": RANDOM.integers(0, 256, (ROWS, 2, 3)).astype(np.uint8),
    "signs and zeros": np.round(RANDOM.normal(size=(ROWS, 2)), 1) * np.array([1, -1e-300]),
    "truth values": RANDOM.random(ROWS) < 0.3,
}
KINDS = {
    "standard": (Standard(), lambda x: x.mean(0), lambda x: x.std(0)),
    "only centred": (Standard(scale=False), lambda x: x.mean(0), lambda x: np.ones(x.shape[1:])),
    "only scaled": (Standard(center=False), lambda x: np.zeros(x.shape[1:]), lambda x: x.std(0)),
    "minmax": (MinMax(), lambda x: x.min(0), lambda x: np.ptp(x, 0)),
    "minmax around 0": (MinMax(low=-1), lambda x: (x.min(0) + x.max(0)) / 2, lambda x: np.ptp(x, 0) / 2),
    "robust": (Robust(), lambda x: np.median(x, 0), lambda x: np.subtract(*np.quantile(x, [0.75, 0.25], 0))),
    "robust 5 to 90": (
        Robust(lower=5, upper=90),
        lambda x: np.median(x, 0),
        lambda x: np.subtract(*np.quantile(x, [0.9, 0.05], 0)),
    ),
}
# One row at a time is slow for those that take nine passes.
CHUNKED = [(kind, size) for kind in KINDS for size in (1, 4000, 2**22) if size > 1 or not kind.startswith("robust")]
TRAIN = np.sort(RANDOM.permutation(ROWS)[:600])


def fitted(array, kind, examples=None, windows=None):
    source = open_source({"data": array}, {"x": "data"}, windows)
    examples = np.arange(source.count) if examples is None else examples
    return source, fit_scales(source, {"x": kind}, examples)


@each_row(("kind", "chunk_bytes"), CHUNKED)
@each_row("table", TABLES)
def test_scales_are_those_of_numpy_in_float64_over_the_training_rows(table, kind, chunk_bytes, monkeypatch):
    monkeypatch.setattr("engine.data.normalization.CHUNK_BYTES", chunk_bytes)
    normalization, shift, scale = KINDS[kind]
    rows = TABLES[table][TRAIN].astype(np.longdouble if kind.startswith(("st", "on")) else np.float64)
    _, scales = fitted(TABLES[table], normalization, TRAIN)
    expected = scale(rows).astype(float)
    found = scales.of["x"]
    np.testing.assert_allclose(found.shift, shift(rows).astype(float), rtol=1e-14, atol=1e-14 * float(np.ptp(rows)))
    np.testing.assert_allclose(found.scale, np.where(expected > 1e-300, expected, found.scale), rtol=1e-10)
    assert found.shift.dtype == found.scale.dtype == np.float64
    assert (found.scale > 0).all()


def test_held_out_rows_have_no_influence():
    array = TABLES["plain"].copy()
    _, before = fitted(array, Standard(), TRAIN)
    array[np.setdiff1d(np.arange(ROWS), TRAIN)] = np.nan
    _, after = fitted(array, Standard(), TRAIN)
    np.testing.assert_array_equal(before.of["x"].scale, after.of["x"].scale)
    np.testing.assert_array_equal(before.of["x"].shift, after.of["x"].shift)


def test_a_large_offset_in_float32_leaves_batches_of_mean_0_and_deviation_1():
    source, scales = fitted(TABLES["a large offset"], Standard())
    into = np.zeros((ROWS, 3), np.float32)
    source.scaled(scales).gather(np.arange(ROWS), {"x": into})
    np.testing.assert_allclose(into.mean(0, dtype=float), 0, atol=1e-7)
    np.testing.assert_allclose(into.std(0, dtype=float), 1, rtol=1e-6)


@each_row(("kind", "becomes"), [(Standard(), 0), (MinMax(low=-2, high=3), -2), (Robust(), 0)])
@each_row("value", [0.1, 1e9 + 0.1, -3e200])
def test_a_constant_element_has_scale_1(kind, becomes, value):
    array = np.column_stack([np.full(1001, value), np.arange(1001.0)])
    source, scales = fitted(array, kind)
    assert scales.of["x"].scale[0] == 1
    assert scales.of["x"].scale[1] > 1
    if abs(value) < 1e200:
        np.testing.assert_allclose(source.scaled(scales).read(np.arange(3))["x"][:, 0], becomes, atol=1e-6)


def test_windows_count_each_row_that_training_examples_show_once():
    array = TABLES["plain"]
    windows = Windows(spans={"x": (1, 4)}, stride=2)
    source, scales = fitted(array, Standard(), np.array([0, 1, 7]), windows)
    rows = array[[1, 2, 3, 4, 5, 15, 16, 17]].astype(float)
    np.testing.assert_allclose(scales.of["x"].shift, rows.mean(0), rtol=1e-13)
    batch = source.scaled(scales).read(np.array([3]))["x"]
    np.testing.assert_allclose(batch[0], (array[7:10] - rows.mean(0)) / rows.std(0), rtol=1e-12)


def test_predictions_are_scaled_alike_and_targets_scaled_back():
    source, scales = fitted(TABLES["a large offset"], MinMax(low=-1, high=1))
    raw = TABLES["a large offset"][5:9]
    np.testing.assert_array_equal(scales.apply("x", raw), source.scaled(scales).read(np.arange(5, 9))["x"])
    np.testing.assert_allclose(scales.invert("x", scales.apply("x", raw)), raw, rtol=1e-15)
    assert scales.apply("other", raw) is raw
    assert scales.invert("other", raw) is raw


def test_scales_go_into_a_checkpoint_and_back():
    columns = {"x": TABLES["plain"], "y": TABLES["a trend"]}
    source = open_source(columns, {"a/shift": "x", "y": "y"})
    scales = fit_scales(source, {"a/shift": Standard(), "y": MinMax()}, TRAIN)
    arrays = scales.to_arrays()
    assert sorted(arrays) == ["a/shift/scale", "a/shift/shift", "y/scale", "y/shift"]
    back = Scales.from_arrays(arrays)
    for name in ("a/shift", "y"):
        np.testing.assert_array_equal(back.of[name].shift, scales.of[name].shift)
        np.testing.assert_array_equal(back.of[name].scale, scales.of[name].scale)
    assert Scales.from_arrays({}).of == {}


ONE = np.ones(2)


@each_row(
    "arrays",
    [
        {"x/shift": ONE},
        {"x/shift": ONE, "x/scale": ONE, "x": ONE},
        {"x/shift": ONE, "x/scale": np.ones(3)},
        {"x/shift": ONE.astype("f4"), "x/scale": ONE},
        {"x/shift": ONE, "x/scale": ONE * 0},
        {"x/shift": ONE * np.nan, "x/scale": ONE},
    ],
)
def test_incomplete_scales_are_refused(arrays):
    with pytest.raises(CheckpointError):
        Scales.from_arrays(arrays)


@each_row("kind", [Standard(), MinMax(), Robust()])
@each_row("wrong", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_with_the_column_and_the_row(kind, wrong):
    array = np.arange(8.0).reshape(4, 2)
    array[2, 1] = wrong
    with pytest.raises(DataError, match="column 'data' holds NaN or an infinite number in row 2"):
        fitted(array, kind)


def test_what_cannot_be_normalised_is_refused():
    with pytest.raises(DataError, match="column 'data' of type <U1 holds no numbers"):
        fitted(np.array(["a", "b"]), Standard())
    with pytest.raises(DataError, match="column 'data' spreads further than float64"):
        fitted(np.array([1e308, -1e308]), MinMax())
    with pytest.raises(DataError, match="no example to normalise input 'x'"):
        fitted(np.zeros(3), Standard(), np.arange(0))
    with pytest.raises(DataError, match="no input called 'z'"):
        fit_scales(open_source({"x": ONE}, {"x": "x"}), {"z": Standard()}, np.arange(2))


@pytest.mark.parametrize("kind", [Standard(), MinMax(), Robust()])
def test_memory_does_not_grow_with_the_rows(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.normalization.CHUNK_BYTES", 2**17)
    array = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (30_000, 16))
    array[:] = RANDOM.random((30_000, 16), np.float32)
    source = open_source({"x": [array, array]}, {"x": "x"})
    examples = np.arange(source.count)
    tracemalloc.start()
    fit_scales(source, {"x": kind}, examples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < source.nbytes / 2


def test_normalisations_are_read():
    reader = Reader()
    document = {"x": "standard", "y": {"kind": "minmax", "low": -1}, "z": {"kind": "robust"}}
    assert read_normalize(reader, document, "/normalize") == {"x": Standard(), "y": MinMax(low=-1.0), "z": Robust()}
    assert not reader.findings


@each_row(
    ("document", "pointer"),
    [
        ("standard", "/normalize"),
        ({"x": 3}, "/normalize/x"),
        ({"x": {}}, "/normalize/x"),
        ({"x": "standart"}, "/normalize/x/kind"),
        ({"x": {"kind": "standard", "low": 1}}, "/normalize/x/low"),
        ({"x": {"kind": "minmax", "low": 1}}, "/normalize/x/high"),
        ({"x": {"kind": "robust", "lower": 80}}, "/normalize/x/upper"),
        ({"x": {"kind": "robust", "upper": 180}}, "/normalize/x/upper"),
    ],
)
def test_faulty_normalisations_are_findings(document, pointer):
    reader = Reader()
    read_normalize(reader, document, "/normalize")
    assert pointer in [finding.pointer for finding in reader.findings]
