"""Compiled activations against NumPy's, where they are curved, straight, infinite and not numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.core.dtypes import BFLOAT16
from engine.core.value import Array
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]
DTYPES = ("float32", "float64")
FAR = [0.0, -0.0, 1e-30, -1e-30, 30.0, -30.0, 1e4, -1e4, 1e20, -1e20, 3e38, -3e38, np.inf, -np.inf, np.nan]

ACTIVATIONS: list[tuple[str, dict[str, Any]]] = [
    ("gelu", {}),
    ("gelu", {"approximate": "tanh"}),
    ("gelu", {"approximate": "quick"}),
    ("elu", {}),
    ("elu", {"alpha": 0.3}),
    ("leaky_relu", {}),
    ("leaky_relu", {"slope": 1.5}),
    ("softplus", {}),
    ("softplus", {"beta": 2.0, "threshold": 1.5}),
    ("hardtanh", {}),
    ("hardtanh", {"min": -0.5, "max": 2.0}),
]


def inputs(dtype: str) -> Array:
    """Return numbers on both sides of every bend, and far away."""
    return np.concatenate([np.linspace(-9, 9, 301), FAR]).astype(dtype)


@each_row("dtype", DTYPES)
@each_row(("op", "attrs"), ACTIVATIONS)
def test_activations_are_those_of_numpy(op: str, attrs: dict[str, Any], dtype: str, run_both: RunBoth) -> None:
    """Within a few units of rounding, in rows and through views."""
    x = inputs(dtype)
    rtol = 2e-6 if dtype == "float32" else 1e-13
    for view in (x, x[:312].reshape(12, 26).T, x[::3]):
        ((actual,), (wanted,)) = run_both(op, view, **attrs)
        np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol / 10)


@each_row("dtype", DTYPES)
@each_row("approximate", ["none", "tanh", "quick"])
def test_gradients_of_gelu_are_those_of_numpy(approximate: str, dtype: str, run_both: RunBoth) -> None:
    """For gradients of any size."""
    x = inputs(dtype)
    g = np.cos(np.arange(x.size)).astype(dtype)
    ((actual,), (wanted,)) = run_both("gelu_backward", g, x, approximate=approximate)
    rtol = 3e-6 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol / 3)


@each_row("dtype", DTYPES)
@each_row("over", [None, 0, 1], ids=["apart", "over g", "over y"])
def test_the_gradient_of_hardtanh_is_that_of_numpy(
    over: int | None, dtype: str, run_both: RunBoth, compiled: Callable[..., bool]
) -> None:
    """For any numbers, at the limits too, in rows and through views, and in place."""
    y = np.append(inputs(dtype), np.array([-2.0, 0.5], dtype))
    g = np.cos(np.arange(y.size)).astype(dtype)
    g[:3] = np.nan, np.inf, -np.inf
    attrs = {"min": -2.0, "max": 0.5}
    if over is None:
        for cut in (slice(None), slice(None, None, 3)):
            ((actual,), (wanted,)) = run_both("hardtanh_backward", g[cut], y[cut], **attrs)
            np.testing.assert_array_equal(actual, wanted)
    else:
        (wanted,) = run_both("hardtanh_backward", g, y, **attrs)[1]
        operands = [g, y]
        assert compiled("hardtanh_backward", operands, [operands[over]], attrs)
        np.testing.assert_array_equal(operands[over], wanted)


@each_row("executor", ["native", "numpy"])
@each_row("precision", ["mixed_float16", *(["mixed_bfloat16"] if BFLOAT16 is not None else [])])
@each_row("limit", [0.1, 0.3, 0.7])
def test_what_hardtanh_limits_has_no_gradient_in_half_types(limit: float, precision: str, executor: str) -> None:
    """Limits that these types round down and up."""
    graph = {
        "inputs": {"x": ["batch", 4]},
        "parameters": {"w": {"shape": [8, 4], "init": {"kind": "ones"}}},
        "program": f"h = linear(x, w)\nloss = mean(hardtanh(h, min={-limit}, max={limit}) + hardtanh(-h, max={limit}))",
    }
    recipe = {"optimizer": {"kind": "sgd", "lr": 0.1}, "steps": 1, "batch_size": 8, "precision": precision}
    fit = engine.Fit(
        engine.parse_graph(graph),
        engine.read_recipe({**recipe, "record": {"every_steps": 1, "gradient_norms": True}}),
        {"x": np.full((8, 4), 5, np.float32)},
        execution=engine.Execution(executor, 1),
    )
    (row,) = fit.advance()
    assert row.values["grad_norm/w"] == 0


@pytest.mark.parametrize("op", ["gelu", "hardtanh"])
def test_an_activation_may_be_computed_in_place(op: str, compiled: Callable[..., bool], run_both: RunBoth) -> None:
    """Its result lies over its operand."""
    x = inputs("float32")
    attrs = {"approximate": "none", "min": -1.0, "max": 1.0}
    (wanted,) = run_both(op, x, **{name: attrs[name] for name in (("min", "max") if op == "hardtanh" else ())})[1]
    assert compiled(op, [x], [x], attrs)
    np.testing.assert_allclose(x, wanted, rtol=2e-6, atol=1e-7)
