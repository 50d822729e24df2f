"""Attention and soft_max: masks, masked rows, shared heads, long sequences, the written-out form, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import inf, nan

from engine.autograd.backward import pull_back
from engine.core.errors import AttributeValueError, DTypeError, ShapeError
from engine.core.value import Array, Value, tensor
from engine.ops import OPS
from engine.ops.linalg.matmul import matrix_product
from engine.ops.transformer.attention import multi_head_attention, scaled_dot_product_attention
from engine.ops.transformer.attention_kernel import attention
from engine.ops.transformer.masked_softmax import alibi_slopes, soft_max
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def written_out(q: Value, k: Value, v: Value, mask: Value | None = None, *, causal: bool = False) -> Value:
    """Attention by its definition, with the weights as a matrix."""
    scores = matrix_product(q, OPS["transpose"](k)) * (1 / np.sqrt(q.shape[-1]))
    if causal:
        scores = OPS["where"](np.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, -inf)
    if mask is not None:
        scores = OPS["where"](mask, scores, -inf) if mask.dtype == np.bool_ else scores + mask
    return matrix_product(OPS["softmax"](scores), v)


SHAPES = [
    ((2, 3, 4), (2, 5, 4), (2, 5, 3), None, False),
    ((2, 2, 6, 4), (2, 2, 6, 4), (2, 2, 6, 4), None, True),
    ((2, 2, 3, 4), (1, 5, 4), (2, 1, 5, 3), (3, 5), False),
    ((2, 7, 2), (2, 4, 2), (2, 4, 2), (2, 1, 4), True),
    ((1, 700, 4), (1, 300, 4), (1, 300, 2), None, True),
    ((1, 300, 4), (1, 700, 4), (1, 700, 2), (300, 700), False),
]


@each_row(("q", "k", "v", "mask", "causal"), SHAPES)
def test_attention_by_blocks_is_attention_written_out(
    derive: Derive, q: Any, k: Any, v: Any, mask: Any, causal: bool
) -> None:
    inputs = [normal(*shape, seed=n) for n, shape in enumerate((q, k, v, mask)) if shape is not None]
    result, gradients = derive(scaled_dot_product_attention, *inputs, causal=causal)
    expected, wanted = derive(written_out, *inputs, causal=causal)
    np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-13)
    for gradient, slope in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_any_order_go_through_inputs_that_hang_together(order: int) -> None:
    found = []
    for function in (scaled_dot_product_attention, written_out):
        x = tensor(normal(3, 2), requires_grad=True)
        height = OPS["sum"](function(x, x * 2.0, OPS["sin"](x)) * normal(3, 2, seed=1))
        for _ in range(order):
            (gradient,) = pull_back([height], [tensor(np.ones(()))], [x])
            assert gradient is not None
            height = OPS["sum"](gradient * gradient)
        found.append(gradient.numpy())
    np.testing.assert_allclose(*found, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 2)])
def test_attention_of_nothing_is_nothing(derive: Derive, shape: tuple[int, ...]) -> None:
    k = np.ones((shape[0], 4, 2))
    result, (gq, gk, _) = derive(scaled_dot_product_attention, np.ones(shape), k, k, causal=True)
    assert gq is not None
    assert result.shape == gq.shape == shape
    np.testing.assert_array_equal(gk, np.zeros_like(k))


def test_a_bool_mask_lets_those_take_part_that_are_true(derive: Derive) -> None:
    q, k, v = normal(2, 3, 4), normal(2, 5, 4, seed=1), normal(2, 5, 2, seed=2)
    mask = np.array([[1, 0, 1, 1, 0]] * 3, bool)
    result, _ = derive(scaled_dot_product_attention, q, k, v, mask)
    seen = mask[0]
    expected, _ = derive(scaled_dot_product_attention, q, k[:, seen], v[:, seen])
    np.testing.assert_allclose(result, expected, rtol=1e-12)


MASKED = np.array([[True, True], [False, False]])


@each_row(("masked_row_zero", "row"), [(False, nan), (True, 0.0)])
@each_row("mask", [MASKED, np.where(MASKED, 0.0, -inf)])
def test_a_row_that_sees_nothing_is_nan_or_zero(derive: Derive, masked_row_zero: bool, row: float, mask: Array) -> None:
    q, k, v = normal(2, 3), normal(2, 3, seed=1), normal(2, 3, seed=2)
    option = {"masked_row_zero": masked_row_zero}
    result, (gq, gk, gv, *_) = derive(scaled_dot_product_attention, q, k, v, mask, **option)
    assert np.isfinite(result[0]).all()
    np.testing.assert_array_equal(result[1], row)
    np.testing.assert_array_equal(gq[1], row)
    assert np.isfinite(gk).all() == np.isfinite(gv).all() == masked_row_zero
    weights, (gx, *_) = derive(soft_max, [[1, 2], [3, 4]], mask, **option)
    np.testing.assert_array_equal(weights[1], row)
    np.testing.assert_array_equal(gx[1], row)


def test_heads_of_keys_serve_groups_of_heads_of_queries(derive: Derive) -> None:
    q, k, v = normal(2, 6, 3, 4), normal(2, 2, 5, 4, seed=1), normal(2, 2, 5, 3, seed=2)
    for mask in ([], [normal(3, 5, seed=3)], [normal(6, 3, 5, seed=3)], [normal(2, 1, 3, 5, seed=3)]):
        result, gradients = derive(scaled_dot_product_attention, q, k, v, *mask)
        repeated = [np.repeat(x, 3, axis=1) for x in (k, v)]
        expected, wanted = derive(scaled_dot_product_attention, q, *repeated, *mask)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        np.testing.assert_allclose(gradients[1], wanted[1].reshape(2, 2, 3, 5, 4).sum(axis=2), rtol=1e-9, atol=1e-12)


def test_dropout_drops_weights_in_training_only() -> None:
    q, k, v, key = normal(4, 8), normal(50, 8, seed=1), np.ones((50, 1)), np.array([1, 2])
    ones = scaled_dot_product_attention(q, k, v, None, key, dropout=0.5, training=False).numpy()
    np.testing.assert_allclose(ones, 1, rtol=1e-12)
    dropped = scaled_dot_product_attention(q, k, v, None, key, dropout=0.5, training=True).numpy()
    assert (
        dropped.tolist()
        == scaled_dot_product_attention(q, k, v, None, key, dropout=0.5, training=True).numpy().tolist()
    )
    assert not np.allclose(dropped, 1)
    assert np.mean(dropped) == pytest.approx(1, abs=0.4)


def test_the_logarithms_of_the_sums_come_with_attention() -> None:
    q, k, v = normal(3, 4), normal(5, 4, seed=1), normal(5, 2, seed=2)
    logs = attention(q, k, v, scale=0.5)[1].numpy()
    np.testing.assert_allclose(logs, np.log(np.exp(q @ k.T * 0.5).sum(axis=1)), rtol=1e-12)


def test_one_product_projects_what_attends_to_itself() -> None:
    x, weight, out = normal(2, 3, 4), normal(12, 4, seed=1), normal(4, 4, seed=2)
    same = tensor(x)
    once = multi_head_attention(same, same, same, weight, out, heads=2).numpy()
    np.testing.assert_allclose(multi_head_attention(x, x.copy(), x, weight, out, heads=2).numpy(), once, rtol=1e-12)


def test_masks_of_multi_head_attention_leave_out_what_is_true() -> None:
    x, weight, out = normal(1, 3, 4), normal(12, 4, seed=1), normal(4, 4, seed=2)
    causal = multi_head_attention(x, x, x, weight, out, heads=2, causal=True).numpy()
    upper = np.triu(np.ones((3, 3), bool), 1)
    for mask in (upper, np.where(upper, -inf, 0.0), np.stack([upper, upper])):
        masked = multi_head_attention(x, x, x, weight, out, None, None, mask, heads=2).numpy()
        np.testing.assert_allclose(masked, causal, rtol=1e-12)
    padded = multi_head_attention(x, x, x, weight, out, None, None, None, [[False, False, True]], heads=2).numpy()
    np.testing.assert_allclose(
        padded, multi_head_attention(x, x[:, :2], x[:, :2], weight, out, heads=2).numpy(), rtol=1e-12
    )
    alone = multi_head_attention(x[0], x[0], x[0], weight, out, None, None, upper, [False, False, True], heads=2)
    both = multi_head_attention(x, x, x, weight, out, None, None, np.where(upper, -inf, 0), [[0, 0, -inf]], heads=2)
    np.testing.assert_allclose(alone.numpy(), both.numpy()[0], rtol=1e-12)


def test_the_slopes_of_alibi_are_ggmls() -> None:
    assert alibi_slopes(4, 8.0) == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]
    assert alibi_slopes(3, 8.0) == [2.0**-4, 2.0**-8, 2.0**-2]


def test_soft_max_scales_masks_and_slopes() -> None:
    x, mask = normal(2, 3, 4), normal(3, 4, seed=1)
    slopes = np.array(alibi_slopes(2, 8.0)).reshape(2, 1, 1)
    scores = np.exp(x * 0.5 + slopes * mask)
    expected = scores / scores.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(soft_max(x, mask, scale=0.5, max_bias=8.0).numpy(), expected, rtol=1e-12)


REFUSED = [
    (scaled_dot_product_attention, [(3, 4), (5, 3), (5, 2)], {}, ShapeError, "must agree"),
    (scaled_dot_product_attention, [(3, 4), (0, 4), (0, 2)], {}, ShapeError, "at least one column"),
    (scaled_dot_product_attention, [(3, 4), (5, 4), (5, 2), (2, 5)], {}, ShapeError, "do not broadcast"),
    (scaled_dot_product_attention, [(5, 3, 4), (2, 5, 4), (2, 5, 2)], {}, ShapeError, "5 heads of q .* multiple"),
    (scaled_dot_product_attention, [(3, 4)] * 3, {"dropout": 1.5}, AttributeValueError, "at most 1"),
    (multi_head_attention, [(2, 3, 4)] * 3 + [(12, 4), (4, 4)], {"heads": 3}, AttributeValueError, "must divide"),
    (multi_head_attention, [(2, 3, 4)] * 3 + [(4, 12), (4, 4)], {"heads": 2}, ShapeError, r"shape \[12, 4\]"),
    (soft_max, [(3, 4)], {"max_bias": 8.0}, AttributeValueError, "needs a float mask"),
    (soft_max, [(3, 0)], {}, ShapeError, "at least one score"),
]


@each_row(("op", "shapes", "attrs", "error", "message"), REFUSED)
def test_what_does_not_fit_is_refused(op: Any, shapes: Any, attrs: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        op(*[np.ones(shape) for shape in shapes], **attrs)


def test_an_integer_mask_is_refused() -> None:
    with pytest.raises(DTypeError, match="a mask must be bool"):
        soft_max(np.ones((2, 3)), np.ones((2, 3), np.int64))
