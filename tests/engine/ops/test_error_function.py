"""erf and erfc against the C library's, over their whole range."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.ops.error_function import erf, erfc
from engine.value import tensor

POINTS = np.concatenate([np.linspace(-7, 30, 3001), np.geomspace(1e-300, 1, 200), -np.geomspace(1e-300, 1, 200)])


@pytest.mark.parametrize(("op", "reference", "ulps"), [(erf, math.erf, 3), (erfc, math.erfc, 5)])
def test_the_error_function_is_exact_to_rounding(op: object, reference: object, ulps: int) -> None:
    exact = np.array([reference(x) for x in POINTS])
    normal = np.abs(exact) > np.finfo(float).tiny
    result = op(tensor(POINTS)).numpy()
    np.testing.assert_allclose(result[normal], exact[normal], rtol=ulps * np.finfo(float).eps, atol=0)
    np.testing.assert_allclose(result[~normal], exact[~normal], rtol=0, atol=np.finfo(float).tiny)


def test_the_limits_are_reached_and_nan_stays() -> None:
    x = tensor(np.array([-np.inf, np.inf, np.nan, -0.0]))
    np.testing.assert_array_equal(erf(x).numpy(), [-1, 1, np.nan, 0])
    np.testing.assert_array_equal(erfc(x).numpy(), [2, 0, np.nan, 1])
    assert math.copysign(1, erf(x).numpy()[3]) == -1


def test_single_precision_is_rounded_from_double() -> None:
    x = np.linspace(-4, 4, 101, dtype=np.float32)
    assert np.array_equal(erf(tensor(x)).numpy(), erf(tensor(x.astype(np.float64))).numpy().astype(np.float32))
