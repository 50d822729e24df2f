"""Slopes by finite differences: exact for parabolas, at even and uneven places, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import EngineError
from engine.ops import OPS
from tests.support.rows import each_row

PLACES = np.array([-1.0, 0.5, 1.0, 3.0])
EVEN = np.array([0.0, 0.5, 1.0, 1.5])


@pytest.mark.parametrize("places", [PLACES, EVEN])
def test_the_slope_of_a_parabola_is_exact_also_at_the_ends(places: Any) -> None:
    (slope,) = OPS["gradient"](3 * places**2 - places, places, edge_order=2)
    np.testing.assert_allclose(slope.numpy(), 6 * places - 1, rtol=1e-13)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_slopes_are_those_of_numpy(edge_order: int) -> None:
    x = np.random.default_rng(0).standard_normal((4, 3, 4))
    for actual, wanted in (
        (OPS["gradient"](x, edge_order=edge_order), np.gradient(x, edge_order=edge_order)),
        (
            OPS["gradient"](x, spacing=(0.5, 2.0), axis=(2, 0), edge_order=edge_order),
            np.gradient(x, 0.5, 2.0, axis=(2, 0), edge_order=edge_order),
        ),
        (
            OPS["gradient"](x, PLACES, PLACES, axis=(0, -1), edge_order=edge_order),
            np.gradient(x, PLACES, PLACES, axis=(0, -1), edge_order=edge_order),
        ),
    ):
        assert len(actual) == len(wanted)
        for ours, theirs in zip(actual, wanted, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-10)


REFUSED: list[tuple[list[Any], dict[str, Any], str]] = [
    ([np.ones(())], {}, "needs at least one axis"),
    ([np.ones(1)], {}, "needs an extent of at least 2"),
    ([np.ones(2)], {"edge_order": 2}, "needs an extent of at least 3"),
    ([np.ones(3)], {"edge_order": 3}, "edge_order 3 must be 1 or 2"),
    ([np.ones(3)], {"spacing": 0.0}, "must be a number but 0"),
    ([np.ones((3, 3))], {"spacing": (1.0,)}, r"or one for each of \[0, 1\]"),
    ([np.ones((3, 3))], {"axis": (0, 0)}, "none twice"),
    ([np.ones((3, 3)), np.ones(3)], {}, "1 vectors of places for the axes"),
    ([np.ones(3), PLACES], {}, r"needs as many places, got \[4\]"),
    ([np.ones(4), PLACES], {"spacing": 2.0}, "beside spacing 2.0"),
    ([np.ones(3, int)], {}, "needs floating inputs"),
]


@each_row(("inputs", "attrs", "message"), REFUSED)
def test_what_has_no_slope_is_refused(inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS["gradient"](*inputs, **attrs)
