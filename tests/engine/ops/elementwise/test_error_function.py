"""erf and erfc against the C library's, over their whole range."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.value import tensor
from engine.ops.elementwise.error_function import erf, erfc, erfcx, log_ndtr, ndtr
from tests.support.rows import each_row

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


@each_row(
    ("x", "wanted"),
    [
        (-np.inf, np.inf),
        (-5.3, 3164914574749.33982),
        (-0.3, 1.45374923284276555),
        (0.4, 0.67078778529476151),
        (1.7, 0.291663297075343473),
        (3.9, 0.140314181600689736),
        (30.0, 0.0187958888614167515),
        (1e10, 5.64189583547756287e-11),
        (1e200, 5.64189583547756287e-201),
        (np.inf, 0.0),
    ],
)
def test_the_scaled_complement_is_exact_to_the_last_digits(x: float, wanted: float) -> None:
    assert erfcx(np.array(x)).item() == pytest.approx(wanted, rel=2e-15, abs=0)


@each_row(
    ("x", "wanted"),
    [
        (-np.inf, -np.inf),
        (-1000.0, -500007.826694812184),
        (-20.0, -203.917155371097264),
        (-1.0, -1.84102164500926351),
        (-0.9, -1.6924928065613382),
        (0.3, -0.481410161588481205),
        (8.0, -6.22096057427178606e-16),
        (np.inf, 0.0),
    ],
)
def test_the_logarithm_of_the_normal_distribution_is_exact_at_both_ends(x: float, wanted: float) -> None:
    assert log_ndtr(np.array(x)).item() == pytest.approx(wanted, rel=1e-14, abs=0)


def test_the_derivatives_of_log_ndtr_stay_finite_far_out() -> None:
    x = tensor(np.array([-1e9, -50.0, 0.0, 5.0, 60.0]), requires_grad=True)
    one = tensor(np.ones(5))
    (slope,) = pull_back([log_ndtr(x)], [one], [x])
    assert slope is not None
    density = math.exp(-12.5) / math.sqrt(2 * math.pi)
    wanted = [1e9, 50.0199840, math.sqrt(2 / math.pi), density / ndtr(np.array(5.0)).item(), 0]
    np.testing.assert_allclose(slope.numpy(), wanted, rtol=1e-8)
    (bend,) = pull_back([slope], [one], [x])
    assert bend is not None
    assert np.isfinite(bend.numpy()).all()
    np.testing.assert_allclose(bend.numpy()[[2, 4]], [-2 / math.pi, 0], rtol=1e-12)


def test_nan_stays_in_the_scaled_functions() -> None:
    assert np.isnan(erfcx(np.nan).item())
    assert np.isnan(log_ndtr(np.nan).item())
