"""Augmentation of images: each image by a draw of its own, in training only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, EngineError, ShapeError
from engine.core.value import Array
from engine.ops import OPS
from engine.ops.augmentation.affine import UNIT, affine_sample, random_affine_maps
from engine.ops.conv.grid import affine_grid, grid_sample
from tests.support.rows import each_row

KEY = np.array([5, 6])
ROWS = 400
X = np.random.default_rng(0).uniform(0.1, 1.0, (ROWS, 2, 6, 5)).astype(np.float32)
SAMPLES: dict[str, dict[str, Any]] = {
    "random_horizontal_flip": {},
    "random_vertical_flip": {},
    "random_crop": {"size": (6, 5), "padding": 2},
    "random_rotation": {"degrees": 30.0},
    "random_affine": {"translate": (0.4, 0.4)},
    "random_erasing": {},
    "gaussian_noise": {},
}


def augmented(op: str, x: Array = X, key: Array = KEY, **attrs: Any) -> Array:
    """Return what an op makes of images in training."""
    actual: Array = OPS[op](x, key, training=True, **attrs).numpy()
    return actual


@each_row(("op", "attrs"), list(SAMPLES.items()))
def test_images_change_in_training_only_each_by_its_own_draw_from_the_key(op: str, attrs: dict[str, Any]) -> None:
    np.testing.assert_array_equal(OPS[op](X, KEY, training=False, **attrs).numpy(), X)
    first, again, other = (augmented(op, key=np.array(key), **attrs) for key in ([5, 6], [5, 6], [5, 7]))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()
    alike = augmented(op, np.broadcast_to(X[:1], X.shape), **attrs)
    assert len({image.tobytes() for image in alike}) > 1


@each_row(("op", "axis"), [("random_horizontal_flip", 3), ("random_vertical_flip", 2)])
@each_row("p", [0.0, 0.3, 1.0])
def test_a_share_of_the_images_is_flipped(op: str, axis: int, p: float) -> None:
    actual = augmented(op, p=p)
    flipped = (actual == np.flip(X, axis)).all(axis=(1, 2, 3))
    np.testing.assert_array_equal(actual[~flipped], X[~flipped])
    assert flipped.mean() == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / ROWS))


def windows(x: Array, size: tuple[int, int], padding: int, fill: float) -> list[Array]:
    """Return the windows of one padded image."""
    wide = np.pad(x, ((0, 0), (padding, padding), (padding, padding)), constant_values=fill)
    starts = [range(extent - side + 1) for extent, side in zip(wide.shape[1:], size, strict=True)]
    return [wide[:, top : top + size[0], left : left + size[1]] for top in starts[0] for left in starts[1]]


@each_row(("size", "padding"), [((6, 5), 1), ((4, 4), 0), ((3, 5), 1)])
def test_every_window_is_cropped_equally_often(size: tuple[int, int], padding: int) -> None:
    actual = augmented("random_crop", size=size, padding=padding, fill=7.0)
    places = [
        [(image == window).all() for window in windows(x, size, padding, 7.0)].index(True)
        for image, x in zip(actual, X, strict=True)
    ]
    counts = np.bincount(places)
    assert len(counts) == len(windows(X[0], size, padding, 7.0))
    assert abs(counts - ROWS / len(counts)).max() < 5 * np.sqrt(ROWS / len(counts))


@each_row(
    ("size", "padding", "expected"),
    [
        ((4, 3), 0, X[:, :, 1:5, 1:4]),
        ((4, 3), 2, X[:, :, 1:5, 1:4]),
        ((8, 3), 1, np.pad(X, ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=7)[:, :, :, 1:4]),
    ],
)
def test_outside_of_training_the_centre_is_cropped(size: tuple[int, int], padding: int, expected: Array) -> None:
    actual = OPS["random_crop"](X, KEY, size=size, padding=padding, fill=7.0, training=False).numpy()
    np.testing.assert_array_equal(actual, expected)


@each_row("degrees", [0, 90, 180, 270, -90, 450])
@each_row("interpolation", ["nearest", "bilinear"])
def test_quarter_turns_are_exact_and_counter_clockwise(degrees: float, interpolation: str) -> None:
    x = X[:3, :, :5]
    actual = augmented("random_rotation", x, degrees=(degrees, degrees), interpolation=interpolation)
    np.testing.assert_array_equal(actual, np.rot90(x, degrees // 90, axes=(2, 3)))


def test_bilinear_turns_and_magnifications_are_those_of_a_sampling_grid() -> None:
    x = X[:8].astype(np.float64)
    maps = random_affine_maps(
        KEY, rows=8, size=(6, 5), degrees=(-70.0, 50.0), scale=(0.6, 1.9), top=(-2, 2), left=(-1, 1)
    ).numpy()
    actual = affine_sample(x, maps, size=(6, 5), interpolation="bilinear").numpy()
    rows, columns = maps[:, 0] / UNIT, maps[:, 1] / UNIT
    # From pixels to the coordinates -1..1 between the outer edges, in the order x, y.
    theta = np.empty((8, 2, 3))
    for place, (numbers, own) in enumerate(((columns, 5), (rows, 6))):
        theta[:, place, 0], theta[:, place, 1] = numbers[:, 1] * 5 / own, numbers[:, 0] * 6 / own
        centre = numbers[:, 0] * 2.5 + numbers[:, 1] * 2.0 + numbers[:, 2]
        theta[:, place, 2] = (2 * centre + 1) / own - 1
    expected = grid_sample(x, affine_grid(theta, shape=(8, 2, 6, 5))).numpy()
    np.testing.assert_allclose(actual, expected, atol=1e-7)


def test_shifts_are_whole_pixels_up_to_their_share() -> None:
    x = np.zeros((ROWS, 1, 11, 11), np.float32)
    x[:, :, 5, 5] = 1
    actual = augmented("random_affine", x, translate=(0.2, 0.4))
    rows, columns = np.nonzero(actual[:, 0])[1:] - np.array([[5], [5]])
    assert set(rows) == set(range(-4, 5))
    assert set(columns) == set(range(-2, 3))


def test_magnified_pixels_are_larger() -> None:
    x = np.zeros((1, 1, 6, 6), np.float32)
    x[:, :, 2:4, 2:4] = 1
    actual = augmented("random_affine", x, scale=(2.0, 2.0))
    assert actual.sum() == 16


@each_row(("scale", "ratio"), [((0.02, 0.33), (0.3, 3.3)), ((0.25, 0.25), (1.0, 1.0)), ((1.0, 1.0), (0.5, 2.0))])
def test_erased_rectangles_have_their_share_and_ratio(scale: tuple[float, float], ratio: tuple[float, float]) -> None:
    actual = augmented("random_erasing", np.ones((ROWS, 2, 40, 40)), p=0.5, scale=scale, ratio=ratio, value=-1.0)
    changed = (actual == -1).all(axis=1)
    assert ((actual == -1).any(axis=1) == changed).all()
    erased = changed[changed.any(axis=(1, 2))]
    assert len(erased) == pytest.approx(ROWS / 2, abs=5 * np.sqrt(ROWS) / 2)
    heights, widths = (erased.any(axis=axis).sum(axis=1) for axis in (2, 1))
    np.testing.assert_array_equal(erased.sum(axis=(1, 2)), heights * widths)
    assert (heights * widths).mean() <= scale[1] * 1600 + 1
    uncut = (heights < 40) & (widths < 40)
    spread = (0.5 / np.minimum(heights, widths) + 1) ** 2
    assert ((heights / widths <= ratio[1] * spread) & (heights / widths >= ratio[0] / spread))[uncut].all()
    if ratio[0] == ratio[1]:
        assert (heights * widths == scale[0] * 1600).all()


def test_noise_has_its_deviation() -> None:
    noise = augmented("gaussian_noise", std=0.5) - X
    assert noise.std() == pytest.approx(0.5, rel=0.05)
    assert noise.mean() == pytest.approx(0, abs=5 * 0.5 / np.sqrt(X.size))


FLAT, WHOLE = np.zeros((2, 3), np.float32), np.zeros((2, 1, 4, 4), np.int64)
REFUSED: list[tuple[str, Array, dict[str, Any], type[EngineError], str]] = [
    ("random_horizontal_flip", FLAT, {}, ShapeError, r"needs images \[N, C, H, W\], got \[2, 3\]"),
    ("random_horizontal_flip", WHOLE, {}, DTypeError, "needs floating inputs, got int64"),
    (
        "random_crop",
        X,
        {"size": 9, "padding": 1},
        ShapeError,
        r"window of \[9, 9\] must fit into images of \[6, 5\]",
    ),
    ("random_crop", X, {"size": (2, 2, 2)}, AttributeValueError, "size .* must be one number, or two"),
    ("random_rotation", X, {"degrees": -3.0}, AttributeValueError, "one number of at least 0"),
    ("random_rotation", X, {"degrees": (3.0, 1.0)}, AttributeValueError, "the lowest and the highest angle"),
    ("random_affine", X, {"scale": (0.0, 1.0)}, AttributeValueError, "at least 0.01"),
    ("random_affine", X, {"scale": (2.0, 1.0)}, AttributeValueError, "the lowest and the highest"),
]


@each_row(("op", "x", "attrs", "error", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(
    op: str, x: Array, attrs: dict[str, Any], error: type[EngineError], message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS[op](x, KEY, training=True, **attrs)
