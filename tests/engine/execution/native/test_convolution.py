"""Convolutions by compiled kernels give what NumPy's give."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16
from engine.core.registry import OPS
from engine.core.value import Array
from engine.execution.native.inline.minimal_filters import FORMS
from engine.execution.native.inline.vectors import vector_bytes
from engine.execution.native.kernels import convolution as convolutions
from engine.execution.native.kernels import tiled_convolution, wide_convolution
from engine.execution.native.lowering import LOWERINGS, Work
from engine.execution.native.packing import calls_of
from tests.engine.execution.native.conftest import Compiled, RunBoth
from tests.support.rows import each_row

TOLERANCE = {"float32": 2e-5, "float64": 1e-13}


@dataclass(frozen=True)
class Case:
    """A convolution of x [N, C, *spatial] with so many outputs."""

    x: tuple[int, ...]
    outputs: int
    kernel: tuple[int, ...]
    stride: tuple[int, ...] = (1, 1)
    padding: tuple[tuple[int, int], ...] = ((0, 0), (0, 0))
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1

    @property
    def window(self) -> dict[str, Any]:
        """The attributes that all three ops share."""
        return {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}


SAME = ((1, 1), (1, 1))
CASES = {
    "one input channel": Case((2, 1, 28, 28), 16, (3, 3), padding=SAME),
    "sixteen input channels": Case((3, 16, 14, 14), 32, (3, 3), padding=SAME),
    "a number of outputs that fills no block": Case((2, 5, 6, 6), 13, (3, 3), padding=SAME),
    "uneven padding, strides and groups": Case((2, 4, 9, 7), 10, (3, 2), (2, 3), ((1, 0), (0, 2)), groups=2),
    "stride and dilation that share a factor": Case((2, 4, 9, 11), 8, (3, 3), (2, 2), SAME, (2, 2)),
    "stride and dilation that do not": Case((1, 2, 13, 11), 3, (3, 2), (2, 3), SAME, (3, 2)),
    "a stride wider than the kernel": Case((2, 3, 8, 9), 4, (2, 2), (3, 4)),
    "one channel a group": Case((2, 6, 9, 11), 6, (3, 3), padding=SAME, groups=6),
    "two outputs a channel": Case((2, 3, 9, 11), 6, (3, 3), (2, 2), SAME, groups=3),
    "a kernel of one element": Case((2, 6, 8, 9), 12, (1, 1)),
    "a kernel of one element, in groups": Case((67, 6, 8, 9), 4, (1, 1), groups=2),
    "a kernel of one element, few positions": Case((5, 6, 3, 2), 12, (1, 1)),
    "a kernel of one element, strided": Case((2, 6, 9, 11), 12, (1, 1), (2, 2)),
    "a kernel of one element, padded": Case((2, 6, 9, 11), 5, (1, 1), padding=((2, 1), (1, 3))),
    "padding that cuts off": Case((2, 2, 8, 8), 3, (3, 3), (3, 3), ((-1, 2), (3, -2))),
    "a kernel as large as the image": Case((3, 2, 4, 5), 7, (4, 5)),
    "strided, in several tiles": Case((2, 40, 70, 70), 8, (3, 4), (2, 2), SAME, (3, 1)),
    "an image in several tiles": Case((1, 64, 60, 60), 8, (3, 3), padding=SAME),
    "more tiles than are summed at a time": Case((70, 24, 34, 34), 2, (3, 3)),
    "many small images": Case((150, 2, 3, 3), 8, (3, 3), padding=SAME),
    "small images side by side": Case((37, 8, 4, 4), 6, (3, 3), padding=SAME),
    "small images side by side, strided": Case((37, 6, 7, 8), 9, (4, 3), (2, 2), SAME),
    "small images side by side, strided by three": Case((37, 6, 10, 11), 9, (4, 3), (3, 3), SAME),
    "small images side by side, two of three phases": Case((37, 8, 10, 11), 9, (4, 2), (3, 3), SAME),
    "small images side by side, cut off": Case((37, 8, 8, 9), 9, (3, 3), (2, 2), ((0, 1), (-1, 1))),
    "small images side by side, dilated and in groups": Case((5, 16, 6, 6), 10, (2, 3), (1, 1), SAME, (2, 1), groups=2),
    "small images of three axes side by side": Case(
        (9, 4, 3, 4, 5), 6, (3, 2, 2), (1, 2, 1), (*SAME, (0, 1)), (1, 1, 1)
    ),
    "one axis": Case((2, 3, 50), 5, (5,), (3,), ((2, 2),), (2,)),
    "three axes": Case((2, 3, 6, 5, 7), 4, (2, 3, 2), (2, 1, 2), ((1, 0), (1, 1), (0, 1)), (1, 2, 1)),
}


def drawn(shape: tuple[int, ...], dtype: str) -> Array:
    """Draw normal numbers, the same for the same shape."""
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def assert_close(actual: list[Array], wanted: list[Array]) -> None:
    """Compare with the size of the largest number."""
    for x, y in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=TOLERANCE[y.dtype.name] * float(np.abs(y).max(initial=1.0)))


@each_row("dtype", TOLERANCE)
@each_row("case", CASES.values(), ids=CASES)
def test_a_convolution_and_its_gradients_are_those_of_numpy(run_both: RunBoth, case: Case, dtype: str) -> None:
    check(case, dtype, run_both)


def check(case: Case, dtype: str, run_both: RunBoth) -> None:
    """Compare a convolution and both gradients."""
    x, weight = drawn(case.x, dtype), drawn((case.outputs, case.x[1] // case.groups, *case.kernel), dtype)
    actual, wanted = run_both("convolution", x, weight, **case.window)
    assert_close(actual, wanted)
    g = drawn(wanted[0].shape, dtype)
    assert_close(*run_both("convolution_input", g, weight, shape=case.x, **case.window))
    assert_close(*run_both("convolution_weight", x, g, kernel=case.kernel, **case.window))


@pytest.fixture
def by_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count every weight as large."""
    monkeypatch.setattr(wide_convolution, "WEIGHT_BYTES", 0)
    monkeypatch.setattr(wide_convolution, "STRIDED_BYTES", 0)


@pytest.mark.usefixtures("by_patches")
@each_row("dtype", TOLERANCE)
@each_row("case", CASES.values(), ids=CASES)
def test_products_of_patches_are_the_same(run_both: RunBoth, case: Case, dtype: str) -> None:
    check(case, dtype, run_both)


TILED = {
    "whole images in chunks": Case((9, 20, 6, 8), 24, (3, 3), padding=SAME),
    "odd extents": Case((2, 16, 7, 5), 17, (3, 3), padding=SAME),
    "strips of an image, the last one lower": Case((2, 16, 34, 38), 16, (3, 3), padding=SAME),
    "no zeros around": Case((3, 33, 6, 9), 8, (3, 3)),
    "zeros that differ": Case((3, 5, 5, 6), 9, (3, 3), padding=((2, 0), (0, 2))),
    "two rows of zeros": Case((2, 8, 3, 4), 16, (3, 3), padding=((2, 2), (2, 2))),
    "more channels than are summed at a time": Case((2, 300, 4, 4), 70, (3, 3), padding=SAME),
    "outputs of four panels": Case((2, 6, 4, 4), 130, (3, 3), padding=SAME),
    "one position": Case((4, 16, 3, 3), 16, (3, 3)),
    "one axis": Case((5, 20, 37), 24, (3,), (1,), ((1, 1),), (1,)),
    "one axis in pieces": Case((2, 16, 700), 17, (3,), (1,), ((2, 0),), (1,)),
    "one row": Case((3, 9, 1, 10), 16, (1, 3), padding=((0, 0), (1, 2))),
    "one axis, four taps": Case((3, 12, 50), 20, (4,), (1,), ((1, 2),), (1,)),
    "one axis, five taps": Case((3, 12, 50), 20, (5,), (1,), ((2, 2),), (1,)),
    "one axis with dilation": Case((3, 12, 48), 20, (3,), (1,), ((8, 0),), (4,)),
    "one row with dilation": Case((3, 12, 1, 48), 20, (1, 3), (1, 1), ((0, 0), (3, 3)), (1, 3)),
    "along rows of more columns": Case((2, 18, 11, 5), 16, (3, 1), padding=((1, 0), (0, 0))),
}
FOR_BFLOAT16 = {
    "five by five": Case((3, 20, 9, 8), 24, (5, 5), padding=((2, 2), (2, 2))),
    "five by five, zeros that differ": Case((2, 7, 6, 11), 18, (5, 5), padding=((4, 0), (1, 3))),
}


BY_TILES = {"transform_weight", "convolve_tiles", "correlate_tiles"}


@pytest.fixture
def by_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every convolution by tiles whose operands kernels take so."""
    monkeypatch.setattr(tiled_convolution, "GAIN", 0)
    monkeypatch.setattr(tiled_convolution, "NEAR_BYTES", 2**17)


@pytest.fixture
def in_all_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take float32 in the forms that are for bfloat16."""
    monkeypatch.setattr(tiled_convolution.Tiled, "is_precise", lambda _, by_weight: True)


needs_tiles = pytest.mark.skipif(vector_bytes() < 32, reason="needs AVX2")


@needs_tiles
@pytest.mark.usefixtures("by_tiles")
@each_row("case", TILED.values(), ids=TILED)
def test_convolutions_by_tiles_are_the_same(run_both: RunBoth, case: Case) -> None:
    assert {"convolve_tiles", "correlate_tiles"} <= names_of(case) <= BY_TILES
    check(case, "float32", run_both)


@needs_tiles
@pytest.mark.usefixtures("by_tiles", "in_all_forms")
@each_row("case", (TILED | FOR_BFLOAT16).values(), ids=TILED | FOR_BFLOAT16)
def test_convolutions_by_the_tiles_of_bfloat16_are_the_same(run_both: RunBoth, compiled: Compiled, case: Case) -> None:
    assert {"convolve_tiles", "correlate_tiles"} <= names_of(case) <= BY_TILES
    check(case, "float32", run_both)
    if BFLOAT16 is not None:
        check_rounded(case, compiled)


def names_of(case: Case) -> set[str]:
    """Return the kernels that a convolution and its gradients are."""
    x, weight = drawn(case.x, "float32"), drawn((case.outputs, case.x[1], *case.kernel), "float32")
    g = OPS["convolution"].body(x, weight, **case.window)
    steps = (
        ("convolution", [x, weight], g),
        ("convolution_input", [g, weight], x),
        ("convolution_weight", [x, g], weight),
    )
    return {
        call.kernel.name
        for op, operands, result in steps
        for call in calls_of(op, Work(operands, [np.empty_like(result)], case.window)) or ()
    }


def test_large_convolutions_go_by_tiles_and_small_ones_do_not() -> None:
    for channels, extent, tiled in ((32, 16, True), (64, 8, True), (8, 32, False), (4, 16, False)):
        names = names_of(Case((8, channels, extent, extent), channels, (3, 3), padding=SAME))
        assert (names == BY_TILES) == (tiled and vector_bytes() >= 32), (channels, extent)
    for channels, dilation, tiled in ((64, 1, True), (64, 4, True), (64, 3, False), (8, 1, False)):
        case = Case((8, channels, 200), channels, (3,), (1,), ((dilation, dilation),), (dilation,))
        assert (names_of(case) == BY_TILES) == (tiled and vector_bytes() >= 32), (channels, dilation)


@needs_tiles
@pytest.mark.usefixtures("by_tiles")
def test_numbers_that_are_not_finite_reach_their_windows_and_no_other_tiles(run_both: RunBoth) -> None:
    """Sums of transformed numbers hold all of a tile's, so that other positions of it get them too."""
    case = Case((2, 16, 12, 12), 16, (3, 3), padding=SAME)
    x, weight = drawn(case.x, "float32"), drawn((16, 16, 3, 3), "float32")
    x[0, 3, 5, 4] = np.inf
    (actual,), (wanted,) = run_both("convolution", x, weight, **case.window)
    assert not np.isfinite(actual[~np.isfinite(wanted)]).any()
    actual[0, :, 4:8, 2:6] = 0
    assert np.isfinite(actual).all()


@pytest.mark.law
@needs_tiles
@pytest.mark.usefixtures("by_tiles", "in_all_forms")
def test_convolutions_by_tiles_of_any_extents_are_the_same(run_both: RunBoth) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for _ in range(150):
        kernel = FORMS[draw.integers(len(FORMS))].kernel
        padding = [(int(draw.integers(taps)), int(draw.integers(taps))) for taps in kernel]
        extents = [
            max(int(draw.integers(1, 24)), taps - sum(zeros)) for taps, zeros in zip(kernel, padding, strict=True)
        ]
        images, inputs, outputs = (int(draw.integers(1, most)) for most in (6, 50, 50))
        case = Case((images, inputs, *extents), outputs, kernel, padding=tuple(padding))
        check(case, "float32", run_both)


@pytest.mark.parametrize(
    ("way", "dtype", "stride"),
    [
        ("by_patches", "float64", 1),
        ("by_patches", "float64", 2),
        pytest.param("by_tiles", "float32", 1, marks=needs_tiles),
    ],
)
def test_images_and_weights_may_be_channels_of_others(
    compiled: Compiled, request: pytest.FixtureRequest, way: str, dtype: str, stride: int
) -> None:
    """So they are where shards compute channels of a result."""
    request.getfixturevalue(way)
    x, weight = drawn((3, 9, 6, 5), dtype)[:, 2:6], drawn((7, 8, 3, 3), dtype)[:, 1:5]
    window = Case(x.shape, 7, (3, 3), (stride, stride), SAME).window
    y = OPS["convolution"].body(x, weight, **window)
    g = drawn((3, 9, *y.shape[2:]), dtype)[:, 1:8]
    for op, operands, more in (
        ("convolution", (x, weight), {}),
        ("convolution_input", (g, weight), {"shape": x.shape}),
        ("convolution_weight", (x, g), {"kernel": (3, 3)}),
    ):
        wanted = OPS[op].body(*operands, **more, **window)
        whole = np.full((wanted.shape[0], wanted.shape[1] + 3, *wanted.shape[2:]), 7, dtype)
        assert compiled(op, operands, [whole[:, 2:-1]], {**more, **window})
        assert_close([whole[:, 2:-1]], [wanted])
        assert (whole[:, [0, 1, -1]] == 7).all()


@needs_tiles
@pytest.mark.usefixtures("by_tiles")
@pytest.mark.skipif(BFLOAT16 is None, reason="needs ml_dtypes")
def test_operands_of_two_types_are_widened_first(compiled: Compiled) -> None:
    case = TILED["odd extents"]
    drawn_pair = drawn(case.x, "float32"), drawn((case.outputs, 16, 3, 3), "float32")
    for half in range(2):
        operands = [each.astype(BFLOAT16 if place == half else np.float32) for place, each in enumerate(drawn_pair)]
        wanted = OPS["convolution"].body(*(each.astype(np.float32) for each in operands), **case.window)
        actual = np.full(wanted.shape, 7, np.float32)
        assert compiled("convolution", operands, [actual], case.window)
        assert_close([actual], [wanted])


@pytest.mark.skipif(BFLOAT16 is None, reason="needs ml_dtypes")
@pytest.mark.usefixtures("in_all_forms")
@each_row("case", CASES.values(), ids=CASES)
def test_a_convolution_of_bfloat16_is_that_of_float32_rounded_once(compiled: Compiled, case: Case) -> None:
    check_rounded(case, compiled)


def check_rounded(case: Case, compiled: Compiled) -> None:
    """Compare a convolution of bfloat16 and both gradients with those of float32, bit by bit."""
    x = drawn(case.x, "float32").astype(BFLOAT16)
    weight = drawn((case.outputs, case.x[1] // case.groups, *case.kernel), "float32").astype(BFLOAT16)
    y = OPS["convolution"].body(x.astype(np.float32), weight.astype(np.float32), **case.window)
    g = drawn(y.shape, "float32").astype(BFLOAT16)
    for op, operands, shape, more in (
        ("convolution", (x, weight), y.shape, {}),
        ("convolution_input", (g, weight), x.shape, {"shape": case.x}),
        ("convolution_weight", (x, g), weight.shape, {"kernel": case.kernel}),
    ):
        made = []
        for read, written in ((np.float32, np.float32), (BFLOAT16, np.float32), (BFLOAT16, BFLOAT16)):
            made.append(np.full(shape, 7, written))
            compiled(op, [operand.astype(read) for operand in operands], [made[-1]], {**more, **case.window})
        wanted, wide, rounded = made
        np.testing.assert_array_equal(wide, wanted)
        np.testing.assert_array_equal(rounded.view(np.uint16), wide.astype(BFLOAT16).view(np.uint16))


@pytest.mark.law
@pytest.mark.skipif(BFLOAT16 is None, reason="needs ml_dtypes")
@pytest.mark.usefixtures("in_all_forms")
def test_convolutions_of_bfloat16_of_any_extents_are_those_of_float32(compiled: Compiled) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for _ in range(200):
        check_rounded(random_case(draw), compiled)


@pytest.mark.law
@pytest.mark.usefixtures("by_patches")
def test_products_of_patches_of_any_extents_are_the_same(run_both: RunBoth) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for _ in range(100):
        check(random_case(draw), "float32", run_both)


@pytest.mark.law
def test_convolutions_of_any_extents_are_those_of_numpy(run_both: RunBoth) -> None:
    draw = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for _ in range(400):
        check(random_case(draw), "float32", run_both)


def random_case(draw: np.random.Generator) -> Case:
    """Return a convolution in 1 to 3 axes whose result is not empty, of few images or of some that lie side by side."""
    axes, groups = int(draw.integers(1, 4)), int(draw.choice([1, 1, 2]))

    def numbers(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(number) for number in draw.integers(low, high, axes))

    kernel, stride, dilation, before, behind = (numbers(*span) for span in ((1, 4), (1, 4), (1, 4), (-1, 3), (-1, 3)))
    reach = [(taps - 1) * d + 1 for taps, d in zip(kernel, dilation, strict=True)]
    extents = numbers(3, 11 if axes < 3 else 6)
    least = [max(r - b - e, 3) for r, b, e in zip(reach, before, behind, strict=True)]
    x = tuple(max(pair) for pair in zip(extents, least, strict=True))
    images, inputs, outputs = int(draw.choice([3, 17, 37])), int(draw.integers(1, 17)), int(draw.integers(1, 9))
    padding = tuple(zip(before, behind, strict=True))
    return Case((images, inputs * groups, *x), outputs * groups, kernel, stride, padding, dilation, groups)


def test_nan_reaches_the_numbers_whose_windows_hold_it_and_no_others(run_both: RunBoth) -> None:
    case = CASES["sixteen input channels"]
    x, weight = drawn(case.x, "float32"), drawn((32, 16, 3, 3), "float32")
    x[1, 3, 4, 5], x[2, 0, 13, 13] = np.nan, np.inf
    (actual,), (wanted,) = run_both("convolution", x, weight, **case.window)
    np.testing.assert_array_equal(np.isfinite(actual), np.isfinite(wanted))


def test_nan_in_an_image_reaches_the_gradient_of_the_weight(run_both: RunBoth) -> None:
    case = CASES["sixteen input channels"]
    x, g = drawn(case.x, "float32"), drawn((3, 32, 14, 14), "float32")
    x[1, 3, 4, 5] = np.nan
    (actual,), (wanted,) = run_both("convolution_weight", x, g, kernel=(3, 3), **case.window)
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(wanted))


def test_small_images_lie_side_by_side_and_nan_in_one_reaches_no_other(run_both: RunBoth) -> None:
    case = CASES["small images side by side"]
    axis = convolutions.Axis(extent=4, count=4, stride=1, before=1, dilation=1, taps=3)
    plane = convolutions.Axis(extent=1, count=1, stride=1, before=0, dilation=1, taps=1)
    assert convolutions.tiling([plane, axis, axis], images=37, inputs=8, outputs=6, itemsize=4, positions=256).side > 1
    x, weight, g = drawn(case.x, "float32"), drawn((6, 8, 3, 3), "float32"), drawn((37, 6, 4, 4), "float32")
    x[3, 2, 1, 1], g[36, 1, 2, 2] = np.nan, np.nan
    for op, operands, more in (
        ("convolution", (x, weight), {}),
        ("convolution_input", (g, weight), {"shape": case.x}),
        ("convolution_weight", (x, np.nan_to_num(g)), {"kernel": case.kernel}),
        ("convolution_weight", (np.nan_to_num(x), g), {"kernel": case.kernel}),
    ):
        (actual,), (wanted,) = run_both(op, *operands, **more, **case.window)
        np.testing.assert_array_equal(np.isnan(actual), np.isnan(wanted))


def test_the_gradient_of_a_weight_over_many_images_keeps_its_digits(run_both: RunBoth) -> None:
    x, g = np.full((5000, 1, 4, 4), 0.1, np.float32), np.full((5000, 1, 4, 4), 0.1, np.float32)
    window = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
    (actual,), _ = run_both("convolution_weight", x, g, kernel=(1, 1), **window)
    np.testing.assert_allclose(actual, 5000 * 16 * float(np.float32(0.1)) ** 2, rtol=2e-6)


def test_operands_that_are_not_row_major_are_left_to_numpy() -> None:
    x = drawn((2, 6, 6, 3), "float32").transpose(0, 3, 1, 2)
    weight, y = drawn((4, 3, 3, 3), "float32"), np.zeros((2, 4, 4, 4), np.float32)
    assert LOWERINGS["convolution"](Work([x, weight], [y], CASES["many small images"].window)) is None


def test_a_tile_of_large_images_stays_in_the_cache() -> None:
    axis = convolutions.Axis(extent=224, count=224, stride=1, before=1, dilation=1, taps=3)
    plane = convolutions.Axis(extent=1, count=1, stride=1, before=0, dilation=1, taps=1)
    tile = convolutions.tiling([plane, axis, axis], images=8, inputs=16, outputs=16, itemsize=4, positions=256)
    assert tile.images == 1
    assert tile.height * axis.pitch * 16 * 4 + tile.rows * axis.pitch * 16 * 4 <= convolutions.TILE
