"""Rotary and sinusoidal encodings against the formulas written out, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.value import Array
from engine.ops.transformer.rotary import rope, rotate_pairs, sinusoidal_encoding
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]


def angle(position: float, pair: int, dims: int, options: dict[str, float]) -> float:
    """The angle of one pair as ggml's rope_yarn computes it."""
    base, scale = options.get("freq_base", 10000.0), options.get("freq_scale", 1.0)
    plain = position * base ** (-2 * pair / dims)
    mix = options.get("ext_factor", 0.0)
    if not mix:
        return plain * scale

    def corrected(turns: float) -> float:
        return dims * math.log(options["context"] / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = max(0.0, math.floor(corrected(options.get("beta_fast", 32.0))))
    high = min(dims - 1.0, math.ceil(corrected(options.get("beta_slow", 1.0))))
    ramp = (1 - min(1.0, max(0.0, (pair - low) / max(0.001, high - low)))) * mix
    return plain * scale * (1 - ramp) + plain * ramp


def written_out(x: Array, positions: Array, mode: str, dims: int, options: dict[str, float]) -> Array:
    """Rope of x [positions, width]."""
    y = x.copy()
    factor = options.get("attn_factor", 1.0)
    if options.get("ext_factor"):
        factor *= 1 + 0.1 * math.log(1 / options["freq_scale"])
    for row, position in enumerate(positions):
        for pair in range(dims // 2):
            a, b = (2 * pair, 2 * pair + 1) if mode == "normal" else (pair, pair + dims // 2)
            theta = angle(position, pair, dims, options)
            c, s = math.cos(theta) * factor, math.sin(theta) * factor
            y[row, a], y[row, b] = x[row, a] * c - x[row, b] * s, x[row, a] * s + x[row, b] * c
    return y


X = np.random.default_rng(0).standard_normal((5, 12))
POSITIONS = np.array([0, 1, 7, 100, 3000])
OPTIONS: list[dict[str, float]] = [
    {},
    {"freq_base": 500.0, "freq_scale": 0.25, "attn_factor": 1.5},
    {"freq_scale": 0.125, "ext_factor": 1.0, "context": 4096},
    {"freq_scale": 0.5, "ext_factor": 0.7, "context": 512, "beta_fast": 16.0, "beta_slow": 2.0},
]


@each_row("options", OPTIONS)
@each_row(("mode", "dims"), [("normal", 12), ("neox", 12), ("normal", 8), ("neox", 6)])
def test_rope_turns_pairs_as_ggml_does(mode: str, dims: int, options: dict[str, float]) -> None:
    result = rope(X, POSITIONS, mode=mode, dims=dims, **options).numpy()
    np.testing.assert_allclose(result, written_out(X, POSITIONS, mode, dims, options), rtol=1e-11, atol=1e-13)


def test_factors_divide_the_frequencies() -> None:
    result = rope(X, POSITIONS, np.full(6, 4.0), offset=8).numpy()
    np.testing.assert_allclose(result, rope(X, (POSITIONS + 8), freq_scale=0.25).numpy(), rtol=1e-9)


def test_positions_run_along_the_given_axis() -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 5, 4))
    heads_first = rope(x, POSITIONS).numpy()
    for row in range(2):
        np.testing.assert_array_equal(heads_first[row, 1], rope(x[row, 1], POSITIONS).numpy())
    ggml = rope(x.transpose(0, 2, 1, 3), POSITIONS, axis=-3).numpy()
    np.testing.assert_array_equal(ggml.transpose(0, 2, 1, 3), heads_first)
    by_row = rope(x, np.stack([POSITIONS, POSITIONS + 1])).numpy()
    np.testing.assert_array_equal(by_row[1], rope(x[1], POSITIONS + 1).numpy())


def test_the_gradient_turns_back(derive: Derive) -> None:
    _, (gradient,) = derive(lambda x: rope(x, POSITIONS) * X, X)
    assert gradient is not None
    np.testing.assert_allclose(rope(gradient, POSITIONS).numpy(), X, rtol=1e-12)


def test_the_product_of_two_tokens_depends_on_their_distance_only() -> None:
    q, k = X[:1], X[1:2]
    products = [(rope(q, np.array([at + 3])).numpy() * rope(k, np.array([at])).numpy()).sum() for at in (0, 11, 1000)]
    np.testing.assert_allclose(products, products[0], rtol=1e-9)


def test_sinusoidal_encodings_are_those_of_the_paper() -> None:
    table = sinusoidal_encoding(length=4, dims=5, offset=2, dtype="float64").numpy()
    for row, position in enumerate(range(2, 6)):
        for column in range(5):
            wave = math.cos if column % 2 else math.sin
            assert table[row, column] == pytest.approx(wave(position / 10000 ** (column // 2 * 2 / 5)), rel=1e-14)


@each_row(
    ("attrs", "message"),
    [
        ({"dims": 3}, "dims 3 must be even"),
        ({"freq_base": 0.0}, "freq_base 0.0"),
        ({"ext_factor": 1.0}, "context 0 >= 1"),
    ],
)
def test_an_attribute_outside_its_domain_is_refused(attrs: dict[str, float], message: str) -> None:
    with pytest.raises(AttributeValueError, match=message):
        rope(X, POSITIONS, **attrs)


def test_inputs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"positions \[4\] must hold one number for each of the 5 places"):
        rope(X, POSITIONS[:4])
    with pytest.raises(ShapeError, match=r"freq_factors \[5\] must have the shape \[6\]"):
        rope(X, POSITIONS, np.ones(5))
    with pytest.raises(ShapeError, match="at most half as many"):
        rope(X, POSITIONS, dims=14)
    with pytest.raises(DTypeError, match="integer positions"):
        rope(X, POSITIONS.astype(float))
    with pytest.raises(ShapeError, match="must have one shape"):
        rotate_pairs(X, np.ones((5, 2)), np.ones((5, 3)))
