"""Values and gradients where a formula meets a kink, a tie, an infinity or nothing at all: each answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import GradientError, ShapeError
from engine.core.modes import detect_anomaly
from engine.core.value import Array, tensor
from engine.ops import OPS
from tests.support.rows import each_row

CheckEdge = Callable[..., None]
Derive = Callable[..., tuple[Array, list[Array | None]]]
INF, NAN = math.inf, math.nan
E = math.e
TINY = 1e-20


class Known(NamedTuple):
    """A call with its known first result and the gradients of the sum of that; None is not compared."""

    row: str
    case: str
    op: str
    inputs: list[Any]
    attrs: dict[str, Any]
    value: Any
    gradients: list[Any]


ZERO_GRAD = {"zero_grad_at_neg_inf": True}
BIG = [-1000.0, 1000.0]

# fmt: off
KNOWN = [
    Known("log_softmax", "first of [0, -inf, 1]", "log_softmax", [[0.0, -INF, 1.0]], {},
          [-math.log1p(E), -INF, 1 - math.log1p(E)], []),
    Known("log_softmax", "all -inf", "log_softmax", [[-INF, -INF]], {}, [NAN, NAN], [[NAN, NAN]]),
    Known("softmax", "one -inf", "softmax", [[0.0, -INF, 1.0]], {}, [1 / (1 + E), 0, E / (1 + E)], [[0, 0, 0]]),
    Known("softmax", "all -inf", "softmax", [[-INF, -INF]], {}, [NAN, NAN], [[NAN, NAN]]),
    Known("softmax", "all -inf, masked row = 0", "soft_max", [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [-INF, -INF]]],
          {"masked_row_zero": True}, [[0.5, 0.5], [0, 0]], [[[0, 0], [0, 0]], None]),
    Known("softmax", "all -inf, row not masked", "soft_max", [[[0.0, 0.0]], [[-INF, -INF]]], {}, [[NAN, NAN]],
          [[[NAN, NAN]], None]),
    Known("logsumexp", "all -inf", "logsumexp", [[-INF, -INF]], {}, -INF, [[NAN, NAN]]),
    Known("logsumexp", "all -inf, zero by option", "logsumexp", [[-INF, -INF]], ZERO_GRAD, -INF, [[0, 0]]),
    Known("logsumexp", "one -inf", "logsumexp", [[-INF, 0.0]], {}, 0, [[0, 1]]),
    Known("logsumexp", "one row -inf, zero by option", "logsumexp", [[[-INF, -INF], [0.0, 0.0]]],
          {"axis": 1, **ZERO_GRAD}, [-INF, math.log(2)], [[[0, 0], [0.5, 0.5]]]),
    Known("logaddexp", "(-inf, -inf)", "logaddexp", [-INF, -INF], {}, -INF, [NAN, NAN]),
    Known("logaddexp", "(-inf, -inf), zero by option", "logaddexp", [-INF, -INF], ZERO_GRAD, -INF, [0, 0]),
    Known("logaddexp", "(-inf, 0)", "logaddexp", [-INF, 0.0], {}, 0, [0, 1]),
    Known("logaddexp", "base 2, zero by option", "logaddexp2", [-INF, -INF], ZERO_GRAD, -INF, [0, 0]),
    Known("logcumsumexp", "[-inf, 0, 1]", "logcumsumexp", [[-INF, 0.0, 1.0]], {}, [-INF, 0, math.log1p(E)],
          [[NAN, 1 + 1 / (1 + E), E / (1 + E)]]),
    Known("logcumsumexp", "[-inf, 0, 1], zero by option", "logcumsumexp", [[-INF, 0.0, 1.0]], ZERO_GRAD,
          [-INF, 0, math.log1p(E)], [[0, 1 + 1 / (1 + E), E / (1 + E)]]),
    Known("x**0 at 0", "scalar exponent", "pow_scalar", [0.0], {"exponent": 0.0}, 1, [0]),
    Known("x**y at x=0", "(0, 0)", "power", [0.0, 0.0], {}, 1, [0, 0]),
    Known("x**y at x=0", "(0, 2)", "power", [0.0, 2.0], {}, 0, [0, 0]),
    Known("x**y at x=0", "(0, -1)", "power", [0.0, -1.0], {}, INF, [-INF, -INF]),
    Known("(-2)**2", "base -4, exponent NaN", "power", [-2.0, 2.0], {}, 4, [-4, NAN]),
    Known("0**x, scalar base", "at 0", "pow", [np.array(0), 0.0], {}, 1, [0]),
    Known("0**x, scalar base", "at 3", "pow", [np.array(0), 3.0], {}, 0, [0]),
    Known("roots at 0", "x**0.5", "pow_scalar", [0.0], {"exponent": 0.5}, 0, [INF]),
    Known("roots at 0", "sqrt", "sqrt", [0.0], {}, 0, [INF]),
    Known("roots at 0", "rsqrt", "rsqrt", [0.0], {}, INF, [-INF]),
    Known("ties of a whole maximum", "max()", "max", [[1.0, 3.0, 3.0]], {}, 3, [[0, 0.5, 0.5]]),
    Known("ties of a whole maximum", "amax()", "amax", [[1.0, 3.0, 3.0]], {}, 3, [[0, 0.5, 0.5]]),
    Known("ties of a whole maximum", "amax(axis)", "amax", [[1.0, 3.0, 3.0]], {"axis": 0}, 3, [[0, 0.5, 0.5]]),
    Known("ties of a whole maximum", "min()", "min", [[1.0, 1.0, 3.0]], {}, 1, [[0.5, 0.5, 0]]),
    Known("ties of a maximum with its index", "max(axis)", "max", [[1.0, 3.0, 3.0]], {"axis": 0}, 3, [[0, 1, 0]]),
    Known("ties of a maximum with its index", "max_with_index", "max_with_index", [[1.0, 3.0, 3.0]], {}, 3,
          [[0, 1, 0]]),
    Known("ties of a maximum with its index", "sort", "sort", [[2.0, 1.0, 2.0]], {"descending": True}, [2, 2, 1],
          [[1, 1, 1]]),
    Known("ties of a maximum with its index", "topk", "topk", [[1.0, 3.0, 3.0]], {"k": 1}, [3], [[0, 1, 0]]),
    Known("ties of a maximum with its index", "max_pool", "max_pool1d", [[[1.0, 3.0, 3.0]]], {"kernel": 3}, [[3]],
          [[[0, 1, 0]]]),
    Known("maximum of equals", "(2, 2)", "maximum", [2.0, 2.0], {}, 2, [0.5, 0.5]),
    Known("maximum of equals", "minimum(2, 2)", "minimum", [2.0, 2.0], {}, 2, [0.5, 0.5]),
    Known("fmax", "tie", "fmax", [2.0, 2.0], {}, 2, [1, 0]),
    Known("fmax", "(NaN, 2)", "fmax", [NAN, 2.0], {}, 2, [0, 1]),
    Known("maximum of NaN", "(NaN, 2)", "maximum", [NAN, 2.0], {}, NAN, [1, 1]),
    Known("cummax", "ties [2, 2, 1]: the last equal wins", "cummax", [[2.0, 2.0, 1.0]], {}, [2, 2, 2], [[1, 2, 0]]),
    Known("median", "of an even count: the lower", "median", [[4.0, 1.0, 3.0, 2.0]], {}, 2, [[0, 0, 0, 1]]),
    Known("abs", "at 0", "abs", [0.0], {}, 0, [0]),
    Known("kinks without slope", "relu at 0", "relu", [0.0], {}, 0, [0]),
    Known("kinks without slope", "relu6 at 0 and 6", "relu6", [[0.0, 6.0]], {}, [0, 6], [[0, 0]]),
    Known("kinks without slope", "hardtanh at -1 and 1", "hardtanh", [[-1.0, 1.0]], {}, [-1, 1], [[0, 0]]),
    Known("kinks without slope", "hardsigmoid at -3 and 3", "hardsigmoid", [[-3.0, 3.0]], {}, [0, 1], [[0, 0]]),
    Known("clamp", "at the bounds", "clamp", [[-1.0, 1.0]], {"min": -1.0, "max": 1.0}, [-1, 1], [[1, 1]]),
    Known("clamp", "NaN", "clamp", [NAN], {"min": -1.0, "max": 1.0}, NAN, [0]),
    Known("clamp", "at the bounds, strict by option", "clamp", [[-1.0, 0.0, 1.0]],
          {"min": -1.0, "max": 1.0, "strict": True}, [-1, 0, 1], [[0, 1, 0]]),
    Known("slopes at a kink", "hardswish at -3 and 3", "hardswish", [[-3.0, 3.0]], {}, [0, 3], [[0, 1]]),
    Known("slopes at a kink", "leaky_relu at 0", "leaky_relu", [0.0], {"slope": 0.25}, 0, [0.25]),
    Known("slopes at a kink", "elu at 0", "elu", [0.0], {"alpha": 1.0}, 0, [1]),
    Known("norms at 0", "2-norm", "norm", [[0.0, 0.0]], {}, 0, [[0, 0]]),
    Known("norms at 0", "3-norm", "norm", [[0.0, 0.0]], {"p": 3.0}, 0, [[0, 0]]),
    Known("norms at 0", "maximum norm, ties share with sign", "norm", [[-2.0, 2.0, 1.0]], {"p": INF}, 2,
          [[-0.5, 0.5, 0]]),
    Known("directions of 0", "normalize", "normalize", [[0.0, 0.0]], {"axis": 0}, [0, 0], [[1e12, 1e12]]),
    Known("directions of 0", "cosine_similarity: y / (|y| eps)", "cosine_similarity", [[0.0, 0.0], [3.0, 4.0]],
          {"axis": 0}, 0, [[0.6e8, 0.8e8], [0, 0]]),
    Known("angles and lengths at 0", "hypot(0, 0)", "hypot", [0.0, 0.0], {}, 0, [0, 0]),
    Known("angles and lengths at 0", "atan2(0, 0)", "atan2", [0.0, 0.0], {}, 0, [0, 0]),
    Known("reducing nothing", "sum", "sum", [np.zeros((2, 0))], {"axis": 1}, [0, 0], [np.zeros((2, 0))]),
    Known("reducing nothing", "prod", "prod", [np.zeros((2, 0))], {"axis": 1}, [1, 1], [np.zeros((2, 0))]),
    Known("reducing nothing", "mean", "mean", [np.zeros((2, 0))], {"axis": 1}, [NAN, NAN], [np.zeros((2, 0))]),
    Known("reducing nothing", "logsumexp", "logsumexp", [np.zeros((2, 0))], {"axis": 1}, [-INF, -INF],
          [np.zeros((2, 0))]),
    Known("reducing nothing", "softmax", "softmax", [np.zeros((2, 0))], {}, np.zeros((2, 0)), [np.zeros((2, 0))]),
    Known("reducing nothing", "matmul with an inner extent of 0", "matmul", [np.zeros((2, 0)), np.zeros((0, 3))], {},
          np.zeros((2, 3)), [np.zeros((2, 0)), np.zeros((0, 3))]),
    Known("reducing nothing", "concat with an empty vector", "concat", [np.zeros(0), [1.0, 2.0]], {"axis": 0}, [1, 2],
          [np.zeros(0), [1, 1]]),
    Known("prod with zeros", "[2, 0, 3]", "prod", [[2.0, 0.0, 3.0]], {}, 0, [[0, 6, 0]]),
    Known("prod with zeros", "[2, 0, 0]", "prod", [[2.0, 0.0, 0.0]], {}, 0, [[0, 0, 0]]),
    Known("cumprod with zeros", "[2, 0, 3, 4]", "cumprod", [[2.0, 0.0, 3.0, 4.0]], {}, [2, 0, 0, 0], [[1, 32, 0, 0]]),
    Known("variance of little", "one value, correction 1", "var", [[5.0]], {}, NAN, [[NAN]]),
    Known("variance of little", "one value, correction 0", "var", [[5.0]], {"correction": 0.0}, 0, [[0]]),
    Known("variance of little", "std of constants", "std", [[2.0, 2.0, 2.0]], {}, 0, [[0, 0, 0]]),
    Known("log1p and expm1", "log1p(-1)", "log1p", [-1.0], {}, -INF, [INF]),
    Known("log1p and expm1", "log1p(1e-20)", "log1p", [TINY], {}, TINY, [1]),
    Known("log1p and expm1", "expm1(1e-20)", "expm1", [TINY], {}, TINY, [1]),
    Known("activations at -1000 and 1000", "sigmoid", "sigmoid", [BIG], {}, [0, 1], [[0, 0]]),
    Known("activations at -1000 and 1000", "logsigmoid", "logsigmoid", [BIG], {}, [-1000, 0], [[1, 0]]),
    Known("activations at -1000 and 1000", "softplus", "softplus", [BIG], {}, [0, 1000], [[0, 1]]),
    Known("activations at -1000 and 1000", "silu", "silu", [BIG], {}, [0, 1000], [[0, 1]]),
    Known("activations at -1000 and 1000", "gelu", "gelu", [BIG], {}, [0, 1000], [[0, 1]]),
    Known("activations at -1000 and 1000", "gelu by tanh", "gelu", [BIG], {"approximate": "tanh"}, [0, 1000],
          [[0, 1]]),
    Known("activations at -1000 and 1000", "mish", "mish", [BIG], {}, [0, 1000], [[0, 1]]),
    Known("activations at -1000 and 1000", "tanh", "tanh", [BIG], {}, [-1, 1], [[0, 0]]),
    Known("softplus threshold", "linear above 20", "softplus", [[20.5, 21.0]], {}, [20.5, 21], [[1, 1]]),
    Known("softplus threshold", "curved below, beta 2", "softplus", [[9.0]], {"beta": 2.0},
          [9 + math.log1p(math.exp(-18.0)) / 2], [[1 / (1 + math.exp(-18.0))]]),
    Known("softplus threshold", "linear above 20 / beta", "softplus", [[10.5]], {"beta": 2.0}, [10.5], [[1]]),
    Known("logit, xlogy, entr", "logit at 0 and 1", "logit", [[0.0, 1.0]], {}, [-INF, INF], [[INF, INF]]),
    Known("logit, xlogy, entr", "xlogy(0, 0)", "xlogy", [0.0, 0.0], {}, 0, [0, NAN]),
    Known("logit, xlogy, entr", "entr(0)", "entr", [0.0], {}, 0, [INF]),
    Known("division by 0", "0 / 0", "div", [0.0, 0.0], {}, NAN, [INF, NAN]),
    Known("division by 0", "1 / 0", "div", [1.0, 0.0], {}, INF, [INF, -INF]),
    Known("nan_to_num", "NaN and infinities", "nan_to_num", [[NAN, INF, -INF, 2.0]], {"posinf": 7.0, "neginf": -7.0},
          [0, 7, -7, 2], [[0, 0, 0, 1]]),
    Known("round", "half to even", "round", [[0.5, 1.5, 2.5, -0.5]], {}, [0, 2, 2, -0.0], [[0, 0, 0, 0]]),
    Known("argmax", "the first of ties", "argmax", [[1.0, 3.0, 3.0]], {}, 1, []),
    Known("argmax", "NaN wins", "argmax", [[1.0, NAN, 3.0]], {}, 1, []),
]
# fmt: on

EMPTY = np.zeros((2, 0))
REFUSED = [("amax", EMPTY), ("amin", EMPTY), ("max", EMPTY), ("argmax", EMPTY), ("max_with_index", EMPTY)]


@pytest.mark.slow
@each_row("known", KNOWN, ids=lambda known: f"{known.row}: {known.case}")
def test_a_tricky_case_has_its_known_answer(known: Known, check_edge: CheckEdge) -> None:
    check_edge(known.op, known.inputs, known.attrs, known.value, known.gradients)


def test_a_logit_of_minus_infinity_gets_no_gradient() -> None:
    x = tensor(np.array([0.0, -INF, 1.0]), requires_grad=True)
    (slope,) = pull_back([OPS["log_softmax"](x)[0]], [tensor(np.array(1.0))], [x])
    assert slope is not None
    np.testing.assert_allclose(slope.numpy(), [E / (1 + E), 0, -E / (1 + E)], rtol=1e-15)


@pytest.mark.parametrize("zeroed", [False, True])
def test_attention_to_nothing_is_nan_or_0_by_option(zeroed: bool) -> None:
    q, k, v = (tensor(np.ones((2, 2)), requires_grad=True) for _ in range(3))
    mask = np.array([[True, True], [False, False]])
    created = OPS["scaled_dot_product_attention"](q, k, v, mask, masked_row_zero=zeroed)
    np.testing.assert_array_equal(created.numpy(), [[1, 1], [0, 0]] if zeroed else [[1, 1], [NAN, NAN]])
    (slope,) = pull_back([created], [tensor(np.ones((2, 2)))], [v])
    assert slope is not None
    assert np.isfinite(slope.numpy()).all() == zeroed


def test_the_second_derivative_of_a_product_with_a_zero_is_the_product_of_the_others() -> None:
    x = tensor(np.array([2.0, 0.0, 3.0]), requires_grad=True)
    (first,) = pull_back([OPS["prod"](x)], [tensor(np.array(1.0))], [x])
    assert first is not None
    rows = [pull_back([first[place]], [tensor(np.array(1.0))], [x])[0] for place in range(3)]
    assert [row.numpy().tolist() for row in rows if row is not None] == [[0, 3, 0], [3, 0, 2], [0, 2, 0]]


@pytest.mark.parametrize("at", [-1.0, 0.0])
def test_a_masked_sqrt_gives_nan_unless_its_input_is_masked_too(at: float, derive: Derive) -> None:
    sqrt, where = OPS["sqrt"], OPS["where"]
    value, (naive,) = derive(lambda x: where(x > 0.0, sqrt(x), 0.0), at)
    _, (safe,) = derive(lambda x: where(x > 0.0, sqrt(where(x > 0.0, x, 1.0)), 0.0), at)
    np.testing.assert_equal([value, naive, safe], [0.0, NAN, 0.0])


def test_anomaly_mode_names_the_op_behind_a_masked_nan() -> None:
    x = tensor(np.array(0.0), requires_grad=True)
    with detect_anomaly():
        y = OPS["where"](x > 0.0, OPS["sqrt"](x), 0.0)
        with pytest.raises(GradientError, match="backward rule of sqrt returned nan"):
            y.backward()


@each_row(("name", "array"), REFUSED)
def test_a_maximum_of_nothing_is_refused(name: str, array: Array) -> None:
    with pytest.raises(ShapeError, match="extent 0"):
        OPS[name](array, axis=1)


ROWS = (
    "log_softmax", "softmax", "logsumexp", "logaddexp", "logcumsumexp", "x**0 at 0", "x**y at x=0", "(-2)**2",
    "0**x, scalar base", "roots at 0", "ties of a whole maximum", "ties of a maximum with its index",
    "maximum of equals", "fmax", "maximum of NaN", "cummax", "median", "abs", "kinks without slope", "clamp",
    "slopes at a kink", "norms at 0", "directions of 0", "angles and lengths at 0", "masked sqrt", "reducing nothing",
    "prod with zeros", "cumprod with zeros", "variance of little", "log1p and expm1", "activations at -1000 and 1000",
    "softplus threshold", "logit, xlogy, entr", "division by 0", "nan_to_num", "round", "argmax",
)  # fmt: skip
SHOWN_APART = {"masked sqrt": test_a_masked_sqrt_gives_nan_unless_its_input_is_masked_too}


def test_every_row_has_a_case() -> None:
    assert {known.row for known in KNOWN} | SHOWN_APART.keys() == set(ROWS)
