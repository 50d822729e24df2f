"""The exponential of matrices at known ones, and factors and solutions with whether there are any."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from engine.core.errors import NumericalError
from engine.ops import OPS
from tests.support.rows import each_row

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


@pytest.mark.parametrize("size", [1e-3, 1.0, 40.0])
def test_the_exponential_of_a_turn_is_a_rotation(size: float) -> None:
    actual = OPS["matrix_exp"](np.array([[0.0, -size], [size, 0.0]])).numpy()
    rotation = [[math.cos(size), -math.sin(size)], [math.sin(size), math.cos(size)]]
    np.testing.assert_allclose(actual, rotation, rtol=0, atol=1e-13)


def test_matrices_of_a_batch_are_scaled_each_by_itself() -> None:
    batch = np.stack([np.diag([700.0, 0.0]), np.diag([1e-8, 0.0]), np.diag([np.nan, 0.0])])
    actual = OPS["matrix_exp"](batch).numpy()
    np.testing.assert_allclose(actual[0, 0, 0], math.exp(700), rtol=1e-12)
    assert actual[1, 0, 0] == math.exp(1e-8)
    assert np.isnan(actual[2]).all()


@pytest.mark.parametrize("name", ["inv_ex", "cholesky_ex", "solve_ex"])
def test_what_has_no_result_is_reported_and_refused_only_if_asked(name: str) -> None:
    matrices = np.stack([np.eye(2) * 2, -SINGULAR if name == "cholesky_ex" else SINGULAR])
    operands = [matrices, np.ones((2, 2, 1))] if name == "solve_ex" else [matrices]
    result, info = OPS[name](*operands)
    assert (info.dtype, info.numpy().tolist()) == (np.int32, [0, 1])
    assert np.isfinite(result.numpy()).all(axis=(1, 2)).tolist() == [True, False]
    with pytest.raises(NumericalError, match="matrix 1 of the batch"):
        OPS[name](*operands, check_errors=True)


def test_ranks_have_limits_of_their_own() -> None:
    matrices = np.stack([np.diag([1.0, 0.1]), np.diag([1.0, 0.1])])
    assert OPS["matrix_rank"](matrices, np.array([0.01, 0.5])).numpy().tolist() == [2, 1]


def test_a_transform_and_its_inverse_undo_each_other() -> None:
    x = np.random.default_rng(0).standard_normal((3, 7))
    for norm in ("backward", "ortho", "forward"):
        np.testing.assert_allclose(OPS["irfft"](*OPS["rfft"](x, norm=norm), n=7, norm=norm).numpy(), x, atol=1e-14)
        real, imaginary = OPS["ifftn"](*OPS["fftn"](x, norm=norm), norm=norm)
        np.testing.assert_allclose(real.numpy(), x, atol=1e-14)
        np.testing.assert_allclose(imaginary.numpy(), 0, atol=1e-14)
    np.testing.assert_array_equal(OPS["fftfreq"](n=5, d=0.5, dtype="float64").numpy(), np.fft.fftfreq(5, 0.5))
    np.testing.assert_array_equal(OPS["ifftshift"](OPS["fftshift"](x)).numpy(), x)


@each_row("norm", ["backward", "ortho", "forward"])
@each_row(("sizes", "axes"), [(None, None), ((4, 3), None), (None, (2, 0)), ((5, 4), (0, 1)), (None, 1)])
def test_transforms_over_several_axes_are_those_of_numpy(sizes: Any, axes: Any, norm: str) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 3, 4, 5))
    options = {"sizes": sizes, "axes": axes, "norm": norm}
    places = (axes,) if isinstance(axes, int) else axes
    expected = np.fft.rfftn(x, s=sizes, axes=places if sizes is None or axes else (-2, -1), norm=norm)
    real, imaginary = OPS["rfftn"](x, **options)
    np.testing.assert_allclose(real.numpy() + 1j * imaginary.numpy(), expected, atol=1e-14)
    inverse = np.fft.irfftn(x + 1j * y, s=sizes, axes=places if sizes is None or axes else (-2, -1), norm=norm)
    np.testing.assert_allclose(OPS["irfftn"](x, y, **options).numpy(), inverse, atol=1e-14)


@each_row("norm", ["backward", "ortho", "forward"])
@each_row("n", [None, 4, 7])
def test_transforms_that_are_real_are_those_of_numpy(n: int | None, norm: str) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 3, 5))
    np.testing.assert_allclose(
        OPS["hfft"](x, y, n=n, norm=norm).numpy(), np.fft.hfft(x + 1j * y, n, norm=norm), atol=1e-13
    )
    real, imaginary = OPS["ihfft"](x, n=n, norm=norm)
    np.testing.assert_allclose(real.numpy() + 1j * imaginary.numpy(), np.fft.ihfft(x, n, norm=norm), atol=1e-14)
