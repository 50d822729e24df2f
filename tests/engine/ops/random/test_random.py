"""Random numbers: reproducible from keys, of the right distribution, independent between keys."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.modes import training_mode
from engine.core.value import Array, tensor
from engine.ops import OPS
from engine.ops.random.random import (
    bernoulli,
    dropout,
    dropout_mask,
    fold_in,
    random_normal,
    random_uniform,
    seed,
    stream,
)
from tests.support.rows import each_row

KEY = np.array([1, 2])
MANY = (400, 500)
SIGMAS = 5 / np.sqrt(np.prod(MANY))
"""Five standard deviations of a mean of unit variance; the keys are fixed, so the tests are too."""


def draws(key: Array) -> list[Array]:
    return [
        random_uniform(key, shape=(3, 4)).numpy(),
        random_normal(key, shape=(3, 4)).numpy(),
        bernoulli(key, shape=(40,), p=0.3).numpy(),
        dropout_mask(key, shape=(40,), p=0.3).numpy(),
    ]


def test_equal_keys_give_equal_numbers_and_others_different_ones() -> None:
    for first, again, other in zip(draws(KEY), draws(KEY.copy()), draws(np.array([1, 3])), strict=True):
        assert first.tobytes() == again.tobytes()
        assert first.tobytes() != other.tobytes()


PINNED_FOLD = [-1419658703116693069, 5053925213064416630]
PINNED_UNIFORM = [0.8769714523407184, 0.9326747193888413]


def test_the_stream_of_a_key_is_pinned() -> None:
    assert fold_in(KEY, 3).numpy().tolist() == PINNED_FOLD
    assert random_uniform(KEY, shape=(2,), dtype="float64").numpy().tolist() == PINNED_UNIFORM


def test_folding_gives_a_new_key_for_every_number_and_every_key() -> None:
    numbers = [0, 1, 2, -1, 2**40, -(2**63)]
    keys = [KEY, np.array([2, 1]), np.array([0, 0]), np.array([0, 1]), np.array([-1, -1])]
    folded = [tuple(fold_in(key, np.array(number)).numpy()) for key in keys for number in numbers]
    assert len(set(folded)) == len(folded)
    assert all(type(half.item()) is int for pair in folded for half in pair)


def test_a_folded_key_does_not_depend_on_the_type_of_the_number() -> None:
    wide = fold_in(KEY, np.array(7)).numpy()
    assert all(np.array_equal(wide, fold_in(KEY, np.array(7, dtype)).numpy()) for dtype in ("uint8", "int32"))


@pytest.mark.parametrize("place", [0, 1])
def test_the_first_bits_of_keys_that_differ_in_one_half_are_even(place: int) -> None:
    words = np.zeros((2000, 2), np.int64)
    words[:, place] = np.arange(2000)
    first = np.array([stream(key).bit_generator.random_raw() for key in words], np.uint64)
    ones = np.array([(first >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)])
    assert ones == pytest.approx(0.5, abs=2.5 / np.sqrt(2000))


def test_neighbouring_keys_give_uncorrelated_numbers() -> None:
    first, second = (random_normal(np.array([0, low]), shape=MANY).numpy() for low in (0, 1))
    assert abs((first * second).mean()) < SIGMAS


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_numbers_fill_their_range(dtype: str) -> None:
    u = random_uniform(KEY, shape=MANY, low=-1.0, high=3.0, dtype=dtype).numpy()
    assert u.dtype == dtype
    assert -1 <= u.min() < -0.99
    assert 2.99 < u.max() < 3
    assert abs(u.mean(dtype=np.float64) - 1) < SIGMAS * 4 / np.sqrt(12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normal_numbers_have_their_mean_and_deviation(dtype: str) -> None:
    z = random_normal(KEY, shape=MANY, mean=1.0, std=2.0, dtype=dtype).numpy().astype(np.float64)
    assert abs(z.mean() - 1) < 2 * SIGMAS
    assert abs(z.std() - 2) < 2 * SIGMAS


@each_row("p", [0.0, 0.001, 0.1, 0.5, 0.75, 0.999, 1.0])
def test_true_comes_with_its_probability(p: float) -> None:
    share = bernoulli(KEY, shape=MANY, p=p).numpy().mean()
    assert share == pytest.approx(p, abs=SIGMAS * np.sqrt(p * (1 - p)))


@each_row("dtype", ["float16", "float32", "float64"])
@each_row("p", [0.0, 0.1, 0.5])
def test_a_dropout_mask_keeps_the_mean(p: float, dtype: str) -> None:
    mask = dropout_mask(KEY, shape=MANY, p=p, dtype=dtype).numpy()
    assert mask.dtype == dtype
    assert set(np.unique(mask)) <= {0, np.dtype(dtype).type(1 / (1 - p))}
    assert mask.mean(dtype=np.float64) == pytest.approx(1, abs=1e-3 + SIGMAS * np.sqrt(p / (1 - p)))


def test_dropout_in_training_masks_value_and_gradient_alike() -> None:
    x = tensor(np.ones(1000), requires_grad=True)
    y = dropout(x, KEY, p=0.4, training=True)
    y.sum().backward()
    assert x.grad is not None
    assert np.array_equal(y.numpy(), x.grad.numpy())
    assert 300 < (y.numpy() == 0).sum() < 500


def test_dropout_out_of_training_is_the_value_itself() -> None:
    x = tensor([1.0, 2.0])
    assert dropout(x, KEY, training=False) is x
    assert dropout(x, KEY, p=0.0, training=True) is x
    with training_mode(False):
        assert dropout(x, p=0.9) is x


def test_a_seed_makes_eager_draws_reproducible() -> None:
    def three() -> list[list[float]]:
        return [random_normal(shape=(2,)).numpy().tolist() for _ in range(3)]

    seed(0)
    first = three()
    seed(0)
    assert three() == first
    assert len({tuple(pair) for pair in first}) == 3
    seed(1)
    assert three() != first


def test_each_thread_has_keys_of_its_own() -> None:
    seed(0)
    expected = [random_uniform(shape=()).item() for _ in range(2)]
    seed(0)
    first = random_uniform(shape=()).item()
    elsewhere: list[float] = []
    thread = threading.Thread(target=lambda: elsewhere.append(random_uniform(shape=()).item()))
    thread.start()
    thread.join()
    assert [first, random_uniform(shape=()).item()] == expected
    assert elsewhere[0] not in expected


REFUSED = [
    ("random_uniform", (KEY,), {"shape": (2,), "low": 2.0, "high": 1.0}, AttributeValueError, "low 2.0 must not"),
    ("random_uniform", (KEY,), {"shape": (-1,)}, ShapeError, "no negative extent"),
    ("random_uniform", (KEY,), {"shape": (2,), "dtype": "int64"}, DTypeError, "int64 must be a floating type"),
    ("random_normal", (np.array([1, 2, 3]),), {"shape": (2,)}, ShapeError, r"random key, int64\[2\]; got int64\[3\]"),
    ("dropout", (np.array([1]), KEY), {}, DTypeError, "dropout needs floating inputs, got int64"),
    ("fold_in", (KEY, np.array([1])), {}, ShapeError, r"needs one integer, got int64\[1\]"),
    ("fold_in", (KEY, np.array(1.0)), {}, ShapeError, "needs one integer, got float64"),
]


@each_row(("name", "inputs", "attrs", "error", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(
    name: str, inputs: tuple[Array, ...], attrs: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        OPS[name](*inputs, **attrs)
