"""Activations: PyTorch's values and gradients at kinks, far out and at special numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy import inf, nan

from engine.core.errors import AttributeValueError
from engine.core.value import Array, tensor
from engine.ops import OPS
from engine.ops.kernels.blocks import BLOCK
from tests.support.rows import each_row

Derive = Callable[..., tuple[Array, list[Array | None]]]

# (op, attributes, inputs, values, gradients), checked against PyTorch 2.13 in float64.
EDGES = [
    ("relu", {}, [-1, 0, 1, nan], [0, 0, 1, nan], [0, 0, 1, 1]),
    ("relu6", {}, [-1, 0, 3, 6, 7], [0, 0, 3, 6, 6], [0, 0, 1, 0, 0]),
    ("hardtanh", {}, [-1, 0, 1], [-1, 0, 1], [0, 1, 0]),
    ("hardsigmoid", {}, [-3, 0, 3], [0, 0.5, 1], [0, 1 / 6, 0]),
    ("hardswish", {}, [-4, -3, 0, 3, 4], [0, 0, 0, 3, 4], [0, 0, 0.5, 1, 1]),
    ("leaky_relu", {}, [-1, 0, 2], [-0.01, 0, 2], [0.01, 0.01, 1]),
    ("leaky_relu", {"slope": -0.5}, [-2, 0, 2], [1, 0, 2], [-0.5, -0.5, 1]),
    ("elu", {}, [0, -inf], [0, -1], [1, 0]),
    ("elu", {"alpha": 0.5}, [0], [0], [0.5]),
    ("selu", {}, [1], [1.0507009873554805], [1.0507009873554805]),
    ("sigmoid", {}, [-1000, 0, 1000], [0, 0.5, 1], [0, 0.25, 0]),
    ("logsigmoid", {}, [-1000, 1000], [-1000, 0], [1, 0]),
    ("softplus", {}, [-1000, 19.9, 20.1, 1000], [0, 19.900000002277924, 20.1, 1000], [0, 0.9999999977220729, 1, 1]),
    ("softplus", {"beta": 2.0, "threshold": 1.0}, [0.6], [0.6], [1]),
    ("softsign", {}, [-1000, 0], [-0.999000999000999, 0], [9.98002996005021e-07, 1]),
    ("silu", {}, [-1000, 0, 1000], [0, 0, 1000], [0, 0.5, 1]),
    ("mish", {}, [-1000, 1000], [0, 1000], [0, 1]),
    ("gelu", {}, [-1000, 1, 1000], [0, 0.841344746068543, 1000], [0, 1.0833154705876864, 1]),
    (
        "gelu",
        {"approximate": "tanh"},
        [-1000, 1, 1000],
        [0, 0.8411919906082768, 1000],
        [0, 1.0829640838457826, 1],
    ),
    ("gelu", {"approximate": "quick"}, [-1000, 0, 1000], [0, 0, 1000], [0, 0.5, 1]),
]


@each_row(("name", "attrs", "x", "values", "gradients"), EDGES)
def test_an_activation_and_its_gradient_are_pytorchs_at_the_edges(
    derive: Derive, name: str, attrs: dict[str, object], x: list[float], values: list[float], gradients: list[float]
) -> None:
    result, (gradient,) = derive(OPS[name], x, **attrs)
    np.testing.assert_allclose(result, values, rtol=1e-14, atol=0)
    np.testing.assert_allclose(gradient, gradients, rtol=1e-14, atol=0)


NAMES = sorted({name for name, *_ in EDGES})


@pytest.mark.parametrize("approximate", ["none", "tanh", "quick"])
def test_gelu_in_float32_equals_float64_to_rounding(derive: Derive, approximate: str) -> None:
    x = np.linspace(-20, 20, 4001)
    exact = derive(OPS["gelu"], x, approximate=approximate)
    single = derive(OPS["gelu"], x.astype(np.float32), approximate=approximate)
    np.testing.assert_allclose(single[0], exact[0], rtol=2e-7, atol=3e-7)
    np.testing.assert_allclose(single[1][0], exact[1][0], rtol=2e-7, atol=2e-6)


def test_gelu_in_float32_is_defined_at_infinity(derive: Derive) -> None:
    value, (gradient,) = derive(OPS["gelu"], np.array([-inf, inf], np.float32))
    assert value.tolist() == [0, inf]
    assert gradient is not None
    assert gradient.tolist() == [0, 1]


@each_row("name", NAMES)
@each_row("dtype", ["float16", "float32", "float64"])
def test_an_array_of_many_blocks_gives_what_its_pieces_give(name: str, dtype: str) -> None:
    x = np.linspace(-8, 8, 2 * BLOCK + 3).astype(dtype)
    whole = OPS[name](tensor(x)).numpy()
    assert whole.dtype == dtype
    pieces = [OPS[name](tensor(piece)).numpy() for piece in np.array_split(x, 7)]
    np.testing.assert_allclose(whole, np.concatenate(pieces), rtol=np.finfo(dtype).eps * 4, atol=0)


@each_row("name", ["relu", "gelu", "sigmoid", "erf"])
def test_a_transposed_array_keeps_its_places(name: str) -> None:
    x = np.linspace(-3, 3, 300 * 200).reshape(300, 200)
    turned = OPS[name](tensor(x).transpose()).numpy()
    assert np.array_equal(turned, OPS[name](tensor(x)).numpy().T)


def test_relu_of_integers_is_an_integer() -> None:
    result = OPS["relu"](tensor(np.array([-2, 3]))).numpy()
    assert result.dtype == np.int64
    assert result.tolist() == [0, 3]


def test_the_gradient_of_relu_drops_an_infinite_cotangent_where_nothing_passed() -> None:
    g, y = np.array([inf, nan, inf, -inf]), np.array([0.0, 0.0, 2.0, 3.0])
    assert OPS["relu_backward"](g, y).numpy().tolist() == [0, 0, inf, -inf]


def test_a_gate_in_half_precision_is_computed_in_single() -> None:
    x = np.array([-12.0], np.float16)  # exp(12) is beyond float16
    assert OPS["sigmoid"](tensor(x)).item() == pytest.approx(6.14e-06, rel=1e-2)


@each_row(
    ("name", "attrs", "message"),
    [
        ("hardtanh", {"min": 2.0, "max": 1.0}, "min 2.0 must not be greater than max 1.0"),
        ("gelu", {"approximate": "erf"}, "'none', 'tanh', 'quick'"),
    ],
)
def test_an_attribute_outside_its_domain_is_refused(name: str, attrs: dict[str, object], message: str) -> None:
    with pytest.raises(AttributeValueError, match=message):
        OPS[name](1.0, **attrs)
