"""Pooling: values, places of the maxima, ties, NaN, padding and ceil mode, all as in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, EngineError, ShapeError
from engine.core.value import Array, Value
from engine.ops import OPS
from tests.support.rows import each_row

Shape = tuple[int, ...]
Derive = Callable[..., tuple[Array, list[Array | None]]]
INF, NAN = math.inf, math.nan

# Values of PyTorch 2.13: op, input [N, C, *spatial] without N and C, attributes, result
KNOWN: list[tuple[str, Any, dict[str, Any], Any]] = [
    ("max_pool1d", [1.0, 3, 2, 5, 4], {"kernel": 2}, [3, 5]),
    ("max_pool1d", [1.0, 3, 2, 5, 4], {"kernel": 2, "ceil_mode": True}, [3, 5, 4]),
    ("max_pool1d", [1.0, 3, 2, 5, 4], {"kernel": 3, "stride": 1}, [3, 5, 5]),
    ("max_pool1d", [-1.0, -3, -2], {"kernel": 2, "padding": 1}, [-1, -2]),
    ("max_pool1d", [1.0, 3, 2, 5, 4], {"kernel": 2, "dilation": 3, "stride": 1}, [5, 4]),
    ("max_pool1d", [1.0, NAN, 2, 5], {"kernel": 2}, [NAN, 5]),
    ("max_pool1d", [-INF, -INF, 1, -INF], {"kernel": 2}, [-INF, 1]),
    ("max_pool2d", [[1.0, 2, 3], [4, 9, 6], [7, 8, 5]], {"kernel": 2, "stride": 1}, [[9, 9], [9, 9]]),
    ("max_pool2d", [[1.0, 2, 3], [4, 9, 6], [7, 8, 5]], {"kernel": (1, 3)}, [[3], [9], [8]]),
    ("avg_pool1d", [1.0, 3, 2, 5, 4], {"kernel": 2}, [2, 3.5]),
    ("avg_pool1d", [2.0, 4, 6], {"kernel": 2, "padding": 1}, [1, 5]),
    ("avg_pool1d", [2.0, 4, 6], {"kernel": 2, "padding": 1, "count_include_pad": False}, [2, 5]),
    ("avg_pool1d", [1.0, 3, 2, 5, 4], {"kernel": 2, "ceil_mode": True}, [2, 3.5, 4]),
    ("avg_pool1d", [2.0, 4, 6, 8], {"kernel": 3, "ceil_mode": True}, [4, 8]),
    ("avg_pool1d", [2.0, 4, 6], {"kernel": 2, "stride": 3, "padding": 1, "ceil_mode": True}, [1, 3]),
    ("avg_pool2d", [[1.0, 2], [3, 6]], {"kernel": 2}, [[3]]),
    ("avg_pool2d", [[1.0, 2], [3, 6]], {"kernel": (2, 1)}, [[2, 4]]),
    ("adaptive_avg_pool2d", [[1.0, 2, 3], [4, 5, 6]], {"output_size": 1}, [[3.5]]),
    ("adaptive_avg_pool2d", [[1.0, 2, 3], [4, 5, 6]], {"output_size": (1, 2)}, [[3, 4]]),
    ("adaptive_avg_pool2d", [[1.0, 2]], {"output_size": (2, 2)}, [[1, 2], [1, 2]]),
]


@each_row(("name", "image", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, image: Any, attrs: dict[str, Any], wanted: Any) -> None:
    batch = np.asarray(image)[None, None]
    np.testing.assert_array_equal(OPS[name](batch, **attrs).numpy()[0, 0], wanted)
    np.testing.assert_array_equal(OPS[name](batch[0], **attrs).numpy()[0], wanted)


# input, kernel, stride, padding, dilation, ceil_mode
GEOMETRIES: list[tuple[Shape, Shape, Shape, Shape, Shape, bool]] = [
    ((2, 3, 8), (2,), (2,), (0,), (1,), False),
    ((2, 3, 9), (3,), (2,), (1,), (2,), True),
    ((2, 1, 6, 6), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((1, 2, 7, 5), (3, 2), (2, 1), (1, 1), (1, 1), False),
    ((1, 2, 7, 5), (3, 2), (2, 3), (1, 0), (1, 2), True),
    ((1, 1, 20, 20), (17, 17), (1, 1), (0, 0), (1, 1), False),
    ((1, 2, 4, 5, 3), (2, 2, 3), (1, 2, 1), (1, 0, 1), (1, 1, 1), True),
    ((0, 2, 4), (2,), (2,), (0,), (1,), False),
]
every_geometry = pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation", "ceil_mode"), GEOMETRIES)


@every_geometry
@pytest.mark.parametrize("fill", ["numbers", "ties", "nan", "minus infinity"])
def test_the_index_is_the_first_place_of_the_maximum_of_the_window(
    shape: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool, fill: str
) -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(0, 3, shape).astype(float) if fill == "ties" else generator.standard_normal(shape)
    if fill in ("nan", "minus infinity"):
        x[generator.random(shape) < 0.4] = NAN if fill == "nan" else -INF
    values, index = OPS["max_pool"](
        x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
    )
    assert index.dtype == "int64"
    for place in np.ndindex(*values.shape):
        candidates = _window(x[place[:2]], place[2:], kernel, stride, padding, dilation)
        best = int(np.argmax([x[place[:2]].flat[candidate] for candidate in candidates]))
        assert index.numpy()[place] == candidates[best]
        np.testing.assert_equal(values.numpy()[place], x[place[:2]].flat[candidates[best]])


def _window(plane: Array, place: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> list[int]:
    """Flat indices of the elements of one window, in row-major order."""
    inside = []
    for offset in np.ndindex(*kernel):
        spot = [p * s - b + o * d for p, s, b, o, d in zip(place, stride, padding, offset, dilation, strict=True)]
        if all(0 <= i < extent for i, extent in zip(spot, plane.shape, strict=True)):
            inside.append(int(np.ravel_multi_index(spot, plane.shape)))
    return inside


@every_geometry
@pytest.mark.parametrize("count_include_pad", [True, False])
def test_average_pooling_and_its_transpose_are_adjoint(
    shape: Shape,
    kernel: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    ceil_mode: bool,
    count_include_pad: bool,
) -> None:
    generator = np.random.default_rng(0)
    window: dict[str, Any] = {"kernel": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode}
    x = generator.standard_normal(shape)
    y = OPS["avg_pool"](x, count_include_pad=count_include_pad, **window)
    g = generator.standard_normal(y.shape)
    gx = OPS["avg_pool_input"](g, shape=shape, count_include_pad=count_include_pad, **window)
    assert gx.shape == shape
    assert (gx.numpy() * x).sum() == pytest.approx((g * y.numpy()).sum())
    if not count_include_pad:
        ones = OPS["avg_pool"](np.ones(shape), count_include_pad=False, **window)
        np.testing.assert_allclose(ones.numpy(), 1)


def test_the_first_of_tied_elements_gets_the_gradient(derive: Derive) -> None:
    _, (slope,) = derive(OPS["max_pool2d"], np.ones((1, 1, 2, 4)), kernel=2)
    assert slope is not None
    assert slope.tolist() == [[[[1, 0, 1, 0], [0, 0, 0, 0]]]]


def test_overlapping_windows_add_their_gradients(derive: Derive) -> None:
    _, (slope,) = derive(OPS["max_pool1d"], [[[1.0, 3, 2, 5]]], kernel=3, stride=1)
    assert slope is not None
    assert slope.tolist() == [[[0, 1, 0, 1]]]
    _, (slope,) = derive(OPS["max_pool1d"], [[[1.0, 5, 2]]], kernel=2, stride=1)
    assert slope is not None
    assert slope.tolist() == [[[0, 2, 0]]]


def test_the_global_mean_is_over_every_spatial_axis() -> None:
    x = np.arange(24.0).reshape(1, 2, 3, 4)
    assert OPS["global_avg_pool"](x).numpy().tolist() == [[5.5, 17.5]]
    assert OPS["global_avg_pool"](x, keepdims=True).shape == (1, 2, 1, 1)


def test_float16_averages_accumulate_in_float32() -> None:
    y = OPS["avg_pool1d"](np.full((1, 1, 4096), 20, np.float16), kernel=4096)
    assert y.dtype == y.numpy().dtype == "float16"
    assert y.item() == 20


def test_shapes_are_inferred_without_data() -> None:
    x = Value((8, 3, 15, 15), np.dtype("float32"), None)
    assert OPS["max_pool2d"](x, kernel=3, stride=2, padding=1).spec == ((8, 3, 8, 8), np.dtype("float32"))
    assert OPS["avg_pool2d"](x, kernel=2, ceil_mode=True).shape == (8, 3, 8, 8)
    assert OPS["adaptive_avg_pool2d"](x, output_size=(4, 5)).shape == (8, 3, 4, 5)


REFUSED: list[tuple[str, Shape, dict[str, Any], type[EngineError], str]] = [
    ("max_pool2d", (1, 4), {"kernel": 2}, ShapeError, r"max_pool2d needs .* 2 spatial axes, got \[1, 4\]"),
    ("max_pool2d", (1, 1, 4, 4), {"kernel": 5}, ShapeError, r"kernel \[5, 5\] .* more than .* \[4, 4\]"),
    ("max_pool2d", (1, 1, 4, 4), {"kernel": 2, "padding": 2}, AttributeValueError, "must be at most half of"),
    ("max_pool2d", (1, 1, 4, 4), {"kernel": (2, 2, 2)}, AttributeValueError, "a list of 2"),
    ("max_pool2d", (1, 1, 4, 4), {"kernel": 2, "stride": 0}, AttributeValueError, "max_pool2d.stride must be"),
    ("max_pool2d", (1, 1, 4, 4), {}, AttributeValueError, "needs the attribute 'kernel'"),
    ("max_pool1d", (1, 1, 1), {"kernel": 2, "padding": 1, "dilation": 2}, ShapeError, "would hold only padding"),
    ("avg_pool1d", (1, 1, 4), {"kernel": 2, "padding": -1}, AttributeValueError, "avg_pool1d.padding must be"),
    ("avg_pool2d", (1, 1, 0, 4), {"kernel": 2}, ShapeError, r"more than the padded input \[0, 4\]"),
    ("global_avg_pool", (2, 3), {}, ShapeError, r"needs an input .* got \[2, 3\]"),
]


@each_row(("name", "shape", "attrs", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(
    name: str, shape: Shape, attrs: dict[str, Any], error: type[EngineError], message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS[name](np.ones(shape), **attrs)


def test_integers_are_refused() -> None:
    for name in ("max_pool1d", "avg_pool1d"):
        with pytest.raises(DTypeError, match="needs floating inputs, got int64"):
            OPS[name](np.ones((1, 1, 4), int), kernel=2)


@pytest.mark.parametrize(
    ("shape", "index", "message"),
    [
        ((1, 1, 4), 4, "index 4 is out of range"),
        ((1, 1, 4), -1, "index -1 is negative"),
        ((1, 2, 4), 0, "the same N and C"),
    ],
)
def test_unpooling_checks_its_indices(shape: Shape, index: int, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        OPS["max_unpool"](np.ones((1, 1, 1)), np.full((1, 1, 1), index), shape=shape)
