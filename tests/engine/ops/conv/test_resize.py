"""Resizing and sampling of images: known answers, gradients as transposes, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import EngineError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

LINE = np.array([[[1.0, 2, 4]]])
IMAGE = np.arange(4.0).reshape(1, 1, 2, 2)

KNOWN: list[tuple[str, Any, dict[str, Any], Any]] = [
    ("interpolate", LINE, {"size": 5}, [1, 1, 2, 2, 4]),
    ("interpolate", LINE, {"size": 5, "mode": "nearest-exact"}, [1, 1, 2, 4, 4]),
    ("interpolate", LINE, {"size": 2}, [1, 2]),
    ("interpolate", LINE, {"size": 5, "mode": "linear"}, [1, 1.4, 2, 3.2, 4]),
    ("interpolate", LINE, {"size": 5, "mode": "linear", "align_corners": True}, [1, 1.5, 2, 3, 4]),
    ("interpolate", LINE, {"size": 1, "mode": "linear", "align_corners": True}, [1]),
    ("interpolate", LINE, {"size": 2, "mode": "area"}, [1.5, 3]),
    ("interpolate", LINE, {"scale": 2.0, "mode": "linear"}, [1, 1.25, 1.75, 2.5, 3.5, 4]),
    ("interpolate", LINE, {"scale": 1.0, "mode": "linear"}, [1, 2, 4]),
    ("interpolate", IMAGE, {"size": (1, 2), "mode": "bilinear"}, [1, 2]),
    ("interpolate", IMAGE, {"size": 2, "mode": "bicubic", "align_corners": True}, [0, 1, 2, 3]),
    ("pixel_shuffle", np.arange(4.0).reshape(4, 1, 1), {"factor": 2}, [0, 1, 2, 3]),
    ("pixel_unshuffle", IMAGE[0], {"factor": 2}, [0, 1, 2, 3]),
    ("channel_shuffle", np.arange(6.0).reshape(1, 6, 1), {"groups": 2}, [0, 3, 1, 4, 2, 5]),
]


@each_row(("name", "array", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, array: Any, attrs: dict[str, Any], wanted: Any) -> None:
    np.testing.assert_allclose(OPS[name](array, **attrs).numpy().reshape(-1), wanted, rtol=1e-12)


def test_pixels_and_channels_go_back() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 4, 6))
    there = OPS["pixel_shuffle"](x, factor=2)
    assert there.shape == (2, 3, 2, 8, 12)
    np.testing.assert_array_equal(OPS["pixel_unshuffle"](there, factor=2).numpy(), x)


@each_row("method", ["nearest", "nearest-exact", "linear", "cubic"])
@each_row(("extent", "size"), [(3, 7), (7, 3), (1, 4), (4, 1)])
def test_resampling_and_its_transpose_fit(method: str, extent: int, size: int) -> None:
    x, g = np.random.default_rng(1).standard_normal((2, 5, 8))[:, :, :extent], np.ones((2, 5, size))
    forth = OPS["resample"](x, axis=2, size=size, method=method).numpy()
    back = OPS["resample_back"](g, axis=2, extent=extent, method=method).numpy()
    assert (forth * g).sum() == pytest.approx((back * x).sum())


def _points(*points: tuple[float, float]) -> Any:
    return np.array(points, float).reshape(1, 1, len(points), 2)


SAMPLED: list[tuple[Any, dict[str, Any], list[float]]] = [
    (_points((-1, -1), (1, -1), (-1, 1), (1, 1), (0, 0)), {"align_corners": True}, [0, 1, 2, 3, 1.5]),
    (_points((-1, -1), (-0.5, -0.5), (0, 0)), {}, [0, 0, 1.5]),
    (_points((1, 1), (3, 3)), {}, [0.75, 0]),
    (_points((5, 0.5), (-5, 5)), {"padding_mode": "border"}, [3, 2]),
    (_points((1.5, -0.5), (2.5, -0.5)), {"padding_mode": "reflection"}, [1, 0]),
    (_points((0.4, -0.6), (-0.4, 0.6), (9, 9)), {"mode": "nearest"}, [1, 2, 0]),
]


@each_row(("grid", "attrs", "wanted"), SAMPLED)
def test_reading_at_places(grid: Any, attrs: dict[str, Any], wanted: list[float]) -> None:
    np.testing.assert_allclose(OPS["grid_sample"](IMAGE, grid, **attrs).numpy().reshape(-1), wanted, atol=1e-12)


def test_places_that_are_no_number_read_nothing() -> None:
    created = OPS["grid_sample"](IMAGE, _points((np.nan, 0), (np.inf, 0)))
    np.testing.assert_array_equal(created.numpy().reshape(-1), [0, 0])


def test_no_gradient_flows_to_places_beyond_the_border() -> None:
    grid = tensor(_points((5, 0), (0, 0)), requires_grad=True)
    OPS["grid_sample"](IMAGE, grid, padding_mode="border").sum().backward()
    np.testing.assert_array_equal(grid.grad.numpy().reshape(2, 2), [[0, 2], [1, 2]])


def test_the_identity_map_shows_the_image_itself() -> None:
    theta = np.array([[[1.0, 0, 0], [0, 1, 0]]])
    x = np.random.default_rng(2).standard_normal((1, 2, 3, 4))
    for align_corners in (False, True):
        grid = OPS["affine_grid"](theta, shape=x.shape, align_corners=align_corners)
        shown = OPS["grid_sample"](x, grid, align_corners=align_corners)
        np.testing.assert_allclose(shown.numpy(), x, atol=1e-12)


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("interpolate", [IMAGE], {}, "needs either size or scale"),
    ("interpolate", [IMAGE], {"size": 2, "scale": 2.0}, "needs either size or scale"),
    ("interpolate", [IMAGE], {"scale": 0.1}, "the size that scale gives must be"),
    ("interpolate", [IMAGE], {"scale": (1.0,)}, "a list of 2"),
    ("interpolate", [IMAGE], {"size": 2, "mode": "linear"}, r"mode 'linear' is for 1 spatial axes, .* has 2"),
    ("interpolate", [IMAGE], {"size": 2, "align_corners": True}, "align_corners does not go with mode 'nearest'"),
    ("interpolate", [np.ones((2, 2))], {"size": 2}, r"1 to 3 spatial axes, got \[2, 2\]"),
    ("resample", [LINE], {"axis": 2, "size": 0, "method": "linear"}, "from 3 to 0 elements"),
    ("resample", [LINE], {"axis": 2, "size": 2, "method": "linear", "scale": -1.0}, "scale -1.0 must be positive"),
    ("pixel_shuffle", [np.ones((3, 1, 1))], {"factor": 2}, "the square of factor 2 divides"),
    ("pixel_unshuffle", [np.ones((1, 3, 2))], {"factor": 2}, "factor 2 divides"),
    ("channel_shuffle", [np.ones((1, 3, 2))], {"groups": 2}, "groups 2 must divide"),
    ("grid_sample", [IMAGE, np.ones((1, 2, 2, 3))], {}, r"got \[1, 1, 2, 2\] and \[1, 2, 2, 3\]"),
    ("grid_sample", [np.ones((1, 1, 0, 2)), np.ones((1, 1, 1, 2))], {}, "spatial extents of at least 1"),
    ("affine_grid", [np.ones((1, 2, 2))], {"shape": (1, 1, 2, 2)}, r"got \[1, 2, 2\] and \[1, 1, 2, 2\]"),
]


@each_row(("name", "inputs", "attrs", "message"), REFUSED)
def test_errors_name_the_numbers(name: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS[name](*inputs, **attrs)
