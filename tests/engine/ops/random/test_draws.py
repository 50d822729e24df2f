"""Draws and choices: right distributions, reproducible from keys, refusals; relatives of dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.value import Array, tensor
from engine.ops import OPS
from engine.ops.random.draws import (
    exponential,
    gumbel_softmax,
    multinomial,
    random_integers,
    randperm,
    truncated_normal,
)
from engine.ops.random.dropout import alpha_dropout, dropout2d, feature_alpha_dropout, feature_dropout
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]

KEY = np.array([5, 6])
MANY = 100_000
SIGMAS = 5 / np.sqrt(MANY)
"""Five standard deviations of a mean of unit variance; the keys are fixed, so the tests are too."""


@each_row(
    ("name", "attrs"),
    [
        ("exponential", {"shape": (5,)}),
        ("random_beta", {"shape": (5,)}),
        ("truncated_normal", {"shape": (5,)}),
        ("random_integers", {"shape": (5,), "high": 1000}),
        ("randperm", {"n": 50}),
    ],
)
def test_equal_keys_give_equal_draws_and_others_different_ones(name: str, attrs: dict[str, Any]) -> None:
    first, again, other = (OPS[name](np.array(key), **attrs).numpy() for key in ([1, 2], [1, 2], [1, 3]))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_exponential_numbers_have_mean_and_deviation_1_over_rate(dtype: str) -> None:
    x = exponential(KEY, shape=(MANY,), rate=4.0, dtype=dtype).numpy()
    assert x.dtype == dtype
    assert x.min() > 0
    assert x.mean(dtype=np.float64) == pytest.approx(0.25, abs=SIGMAS / 4 + 1e-4)
    assert x.std(dtype=np.float64) == pytest.approx(0.25, abs=SIGMAS)


@each_row(("a", "b"), [(1.0, 1.0), (0.2, 0.2), (5.0, 2.0)])
def test_beta_numbers_have_mean_and_deviation(a: float, b: float) -> None:
    x = OPS["random_beta"](KEY, shape=(MANY,), a=a, b=b).numpy()
    assert 0 <= x.min() < x.max() <= 1
    assert x.mean(dtype=np.float64) == pytest.approx(a / (a + b), abs=SIGMAS / 2)
    assert x.var(dtype=np.float64) == pytest.approx(a * b / ((a + b) ** 2 * (a + b + 1)), abs=SIGMAS / 4)


def test_truncated_normal_numbers_keep_to_their_interval() -> None:
    x = truncated_normal(KEY, shape=(MANY,), mean=1.0, std=2.0, low=0.0, high=2.0).numpy()
    assert 0 <= x.min() < 0.01
    assert 1.99 < x.max() <= 2
    assert x.mean(dtype=np.float64) == pytest.approx(1, abs=SIGMAS)
    # The variance of a standard normal number within ±1/2 is 1 - phi(1/2) / (Phi(1/2) - Phi(-1/2)) = 0.0805879.
    assert x.var(dtype=np.float64) == pytest.approx(4 * 0.0805879, abs=SIGMAS)
    tail = truncated_normal(KEY, shape=(1000,), low=5.0, high=6.0, dtype="float64").numpy()
    assert 5 <= tail.min() < tail.max() <= 6


def test_random_integers_are_even() -> None:
    x = random_integers(KEY, shape=(MANY,), low=-2, high=3, dtype="int8").numpy()
    values, counts = np.unique(x, return_counts=True)
    assert x.dtype == np.int8
    assert values.tolist() == [-2, -1, 0, 1, 2]
    assert counts / MANY == pytest.approx(0.2, abs=SIGMAS)


def test_a_random_permutation_holds_each_number_once() -> None:
    assert sorted(randperm(KEY, n=100).numpy()) == list(range(100))
    firsts = [int(randperm(np.array([0, n]), n=3).numpy()[0]) for n in range(600)]
    assert np.bincount(firsts) / 600 == pytest.approx(1 / 3, abs=0.1)


WEIGHTS = np.array([0.0, 1.0, 3.0, 0.0, 4.0])


def test_classes_are_drawn_by_their_weights() -> None:
    drawn = multinomial(np.stack([WEIGHTS, WEIGHTS[::-1]]), KEY, samples=MANY, replacement=True).numpy()
    for row, weights in zip(drawn, (WEIGHTS, WEIGHTS[::-1]), strict=True):
        shares = np.bincount(row, minlength=5) / MANY
        assert shares == pytest.approx(weights / 8, abs=SIGMAS)
        assert not shares[weights == 0].any()


def test_without_replacement_no_class_is_drawn_twice() -> None:
    drawn = multinomial(np.tile(WEIGHTS, (4000, 1)), KEY, samples=3).numpy()
    assert all(sorted(row) == [1, 2, 4] for row in drawn.tolist())
    assert np.mean(drawn[:, 0] == 4) == pytest.approx(0.5, abs=5 / np.sqrt(4000))
    after = drawn[drawn[:, 0] == 4]
    assert np.mean(after[:, 1] == 2) == pytest.approx(0.75, abs=5 / np.sqrt(len(after)))


def test_gumbel_softmax_draws_categories(derive: Derive) -> None:
    logits = np.tile(np.log([0.1, 0.2, 0.7]), (20_000, 1))
    hard = gumbel_softmax(logits, KEY, hard=True).numpy()
    np.testing.assert_allclose(np.sort(hard, axis=1), [[0, 0, 1]] * len(hard), atol=1e-12)
    assert hard.mean(axis=0) == pytest.approx([0.1, 0.2, 0.7], abs=5 / np.sqrt(len(hard)))
    soft = gumbel_softmax(logits, KEY, tau=0.5).numpy()
    np.testing.assert_allclose(soft.sum(axis=1), 1, rtol=1e-12)
    assert (soft.argmax(axis=1) == hard.argmax(axis=1)).all()


def test_the_gradient_of_a_hard_draw_is_that_of_the_soft_one(derive: Derive) -> None:
    weights = np.array([[1.0, -2.0, 0.5]])
    hard, soft = (
        derive(lambda x, hard=hard: gumbel_softmax(x, KEY, tau=0.7, hard=hard) * weights, [[0.1, 0.2, 0.3]])[1][0]
        for hard in (True, False)
    )
    np.testing.assert_allclose(hard, soft, rtol=1e-12)


def test_channels_are_dropped_whole() -> None:
    x = np.ones((50, 40, 3, 2))
    for y in (dropout2d(x, KEY, p=0.25, training=True), feature_dropout(x, KEY, p=0.25, training=True)):
        flat = y.numpy().reshape(2000, 6)
        assert ((flat == flat[:, :1]).all(axis=1)).all()
        assert set(np.unique(flat)) == {0.0, 1 / 0.75}
        assert np.mean(flat == 0) == pytest.approx(0.25, abs=5 * 0.44 / np.sqrt(2000))
    alone = dropout2d(x[0], KEY, p=0.25, training=True).numpy()
    assert (alone == alone[:, :1, :1]).all()


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = np.random.default_rng(0).standard_normal(MANY)
    y = alpha_dropout(x, KEY, p=0.3, training=True).numpy()
    assert y.mean() == pytest.approx(0, abs=SIGMAS)
    assert y.var() == pytest.approx(1, abs=2 * SIGMAS)
    assert np.unique(y, return_counts=True)[1].max() / MANY == pytest.approx(0.3, abs=SIGMAS)


def test_feature_alpha_dropout_saturates_whole_channels_and_keeps_mean_and_variance() -> None:
    x = np.random.default_rng(0).standard_normal((MANY // 10, 10, 2))
    y = feature_alpha_dropout(x, KEY, p=0.3, training=True).numpy()
    values, counts = np.unique(y, return_counts=True)
    floor = values[counts.argmax()]
    assert ((y == floor).all(axis=2) == (y == floor).any(axis=2)).all()
    assert np.mean(y == floor) == pytest.approx(0.3, abs=SIGMAS)
    assert y.mean() == pytest.approx(0, abs=2 * SIGMAS)
    assert y.var() == pytest.approx(1, abs=3 * SIGMAS)


@each_row(
    ("name", "spatial"),
    [
        ("alpha_dropout", 0),
        ("feature_alpha_dropout", 0),
        ("feature_dropout", 0),
        ("dropout1d", 1),
        ("dropout2d", 2),
        ("dropout3d", 3),
    ],
)
def test_out_of_training_nothing_is_dropped(name: str, spatial: int) -> None:
    x = tensor(np.ones((2, 3, *(2,) * spatial)))
    assert OPS[name](x, KEY, training=False) is x
    assert OPS[name](x, KEY, p=0.0, training=True) is x


REFUSED = [
    ("truncated_normal", [KEY], {"shape": (2,), "low": 1.0, "high": 1.0}, AttributeValueError, "must be less than"),
    ("truncated_normal", [KEY], {"shape": (2,), "low": 8.0, "high": 9.0}, AttributeValueError, "hardly ever lie"),
    ("random_integers", [KEY], {"shape": (2,), "high": 0}, AttributeValueError, "low 0 must be less than high 0"),
    ("random_integers", [KEY], {"shape": (2,), "high": 300, "dtype": "uint8"}, AttributeValueError, "within uint8"),
    ("random_integers", [KEY], {"shape": (2,), "high": 3, "dtype": "float32"}, DTypeError, "must be an integer"),
    ("randperm", [KEY], {"n": -1}, ShapeError, "no negative extent"),
    ("multinomial", [WEIGHTS, KEY], {"samples": 6}, AttributeValueError, "at most the 5 classes"),
    ("multinomial", [WEIGHTS, KEY], {"samples": 4}, ShapeError, "3 weights above 0, which is too few for 4"),
    ("multinomial", [np.zeros(3), KEY], {"replacement": True}, ShapeError, "0 weights above 0"),
    ("multinomial", [-WEIGHTS, KEY], {}, ShapeError, "finite and at least 0"),
    ("multinomial", [np.array([1, 2]), KEY], {}, DTypeError, "floating weights"),
    ("alpha_dropout", [WEIGHTS, KEY], {"p": 1.5}, AttributeValueError, "at most 1"),
    ("dropout2d", [WEIGHTS, KEY], {}, ShapeError, "with 2 spatial axes"),
    ("feature_alpha_dropout", [WEIGHTS, KEY], {}, ShapeError, r"\[rows, channels, ...\]"),
    ("feature_dropout", [WEIGHTS, KEY], {}, ShapeError, r"\[rows, channels, ...\]"),
    ("exponential", [np.array([1.0, 2.0])], {"shape": (2,)}, ShapeError, "needs a random key"),
]


@each_row(("name", "inputs", "attrs", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(name: str, inputs: Any, attrs: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        OPS[name](*inputs, **attrs)
