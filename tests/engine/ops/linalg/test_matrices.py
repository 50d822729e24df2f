"""Linear algebra: what factors must satisfy, degenerate matrices, gradients there, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import EngineError, NumericalError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

SINGULAR = np.array([[1.0, 2], [2, 4]])
ZERO, ONE = np.zeros((2, 2)), np.eye(2)
NOT_A_NUMBER = np.full((2, 2), np.nan)


def _array(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def _call(name: str, *arrays: Any, **attrs: Any) -> Any:
    created = OPS[name](*arrays, **attrs)
    return tuple(value.numpy() for value in created) if isinstance(created, tuple) else created.numpy()


def _gradient(name: str, array: Any, which: int = 0, **attrs: Any) -> Any:
    x = tensor(array, requires_grad=True)
    created = OPS[name](x, **attrs)
    (created[which] if isinstance(created, tuple) else created).sum().backward()
    return x.grad.numpy()


@each_row("shape", [(3, 3), (2, 4, 2), (2, 3, 4), (1, 3), (0, 0)])
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...]) -> None:
    x = _array(*shape)
    q, r = _call("qr", x)
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    np.testing.assert_array_equal(r, np.triu(r))
    u, s, vt = _call("svd", x)
    np.testing.assert_allclose((u * s[..., None, :]) @ vt, x, atol=1e-12)
    np.testing.assert_array_equal(_call("svdvals", x), s)
    y = _call("pinv", x)
    np.testing.assert_allclose(x @ y @ x, x, atol=1e-12)


@each_row("shape", [(4, 2), (2, 4), (2, 3, 1), (3, 3)])
def test_complete_factors_are_square_and_multiply_to_the_matrix(shape: tuple[int, ...]) -> None:
    x = _array(*shape)
    rows, columns = shape[-2:]
    q, r = _call("qr", x, mode="complete")
    u, s, vt = _call("svd", x, full_matrices=True)
    rank = s.shape[-1]
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    np.testing.assert_allclose((u[..., :rank] * s[..., None, :]) @ vt[..., :rank, :], x, atol=1e-12)
    for factor, extent in ((q, rows), (u, rows), (vt, columns)):
        one = np.broadcast_to(np.eye(extent), factor.shape)
        np.testing.assert_allclose(factor.swapaxes(-2, -1) @ factor, one, atol=1e-12)


def test_the_added_vectors_pass_on_the_gradient_of_the_space_they_span() -> None:
    direction = np.sin(np.arange(8.0)).reshape(4, 2)
    weights = np.cos(np.arange(16.0)).reshape(4, 4)

    def loss(x: Any) -> Any:
        rest = OPS["svd"](x, full_matrices=True)[0][:, 2:]
        return ((rest @ rest.transpose()) * weights).sum()

    x = tensor(_array(4, 2), requires_grad=True)
    loss(x).backward()
    wanted = [loss(tensor(x.numpy() + step * direction)).item() for step in (1e-6, -1e-6)]
    np.testing.assert_allclose((x.grad.numpy() * direction).sum(), (wanted[0] - wanted[1]) / 2e-6, rtol=1e-6)


def test_least_squares_with_everything_it_returns() -> None:
    a, b = _array(4, 2), np.cos(np.arange(12.0)).reshape(4, 3)
    theirs = np.linalg.lstsq(a, b)
    for ours, known in zip(_call("lstsq_results", a, b), theirs, strict=True):
        np.testing.assert_allclose(ours, known, rtol=1e-10)


@pytest.mark.parametrize("batch", [(), (2,), (2, 1)])
def test_symmetric_matrices_and_their_symmetric_part(batch: tuple[int, ...]) -> None:
    x = _array(*batch, 3, 3)
    square = x @ x.swapaxes(-2, -1) + np.eye(3)
    lower, upper = _call("cholesky", square), _call("cholesky", square, upper=True)
    np.testing.assert_allclose(lower @ upper, square, atol=1e-12)
    np.testing.assert_array_equal(np.triu(lower, 1), np.zeros_like(x))
    skewed = square + x - x.swapaxes(-2, -1)
    values, vectors = _call("eigh", skewed)
    np.testing.assert_allclose((vectors * values[..., None, :]) @ vectors.swapaxes(-2, -1), square, atol=1e-11)
    np.testing.assert_array_equal(_call("eigvalsh", skewed), values)
    np.testing.assert_allclose(_call("cholesky", skewed), lower, atol=1e-12)


def test_systems_of_equations() -> None:
    a, b = _array(2, 3, 3) + 3 * np.eye(3), _array(3, 2)
    np.testing.assert_allclose(a @ _call("solve", a, b), np.broadcast_to(b, (2, 3, 2)), atol=1e-12)
    np.testing.assert_allclose(_call("solve", a, b.T, left=False) @ a, np.broadcast_to(b.T, (2, 2, 3)), atol=1e-12)
    vectors = _array(2, 3)
    np.testing.assert_allclose((a @ _call("solve", a, vectors)[..., None])[..., 0], vectors, atol=1e-12)
    np.testing.assert_allclose(a @ _call("inv", a), np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-12)


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_triangular_systems_see_one_triangle(rows: int) -> None:
    a, b = _array(rows, rows) * 0.1 + 2 * np.eye(rows), _array(rows, 2)
    for upper, unit in ((True, False), (False, False), (True, True), (False, True)):
        part = np.triu(a) if upper else np.tril(a)
        if unit:
            np.fill_diagonal(part, 1)
        attrs = {"upper": upper, "unitriangular": unit}
        np.testing.assert_allclose(part @ _call("solve_triangular", a, b, **attrs), b, atol=1e-12)
        np.testing.assert_allclose(_call("solve_triangular", a, b.T, left=False, **attrs) @ part, b.T, atol=1e-12)


KNOWN: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("det", [SINGULAR], {}, 0),
    ("det", [np.zeros((0, 0))], {}, 1),
    ("det", [NOT_A_NUMBER], {}, np.nan),
    ("inv", [SINGULAR], {"check": False}, np.full((2, 2), np.inf)),
    ("inv", [np.stack([ONE, SINGULAR])], {"check": False}, np.stack([ONE, np.full((2, 2), np.inf)])),
    ("solve_triangular", [ZERO, np.ones((2, 1))], {"upper": True}, [[np.nan], [np.inf]]),
    ("pinv", [SINGULAR], {}, SINGULAR / 25),
    ("pinv", [SINGULAR], {"hermitian": True}, SINGULAR / 25),
    ("pinv", [[[0.0, 2], [6, 0]]], {"hermitian": True}, [[0, 0.25], [0.25, 0]]),
    ("pinv", [np.diag([-4.0, 1])], {"hermitian": True, "rtol": 0.5}, np.diag([-0.25, 0])),
    ("matrix_rank", [np.diag([-4.0, 1])], {"hermitian": True}, 2),
    ("matrix_rank", [np.diag([-4.0, 1])], {"hermitian": True, "rtol": 0.5}, 1),
    ("lstsq", [SINGULAR, np.ones(2)], {}, [0.12, 0.24]),
    ("lstsq", [np.array([[1.0], [1]]), np.array([1.0, 3])], {}, [2]),
    ("matrix_power", [SINGULAR], {"exponent": 0}, ONE),
    ("matrix_power", [SINGULAR], {"exponent": 3}, SINGULAR * 25),
    ("matrix_power", [2 * ONE], {"exponent": -2}, ONE / 4),
    ("matrix_norm", [[[3.0, 0], [0, -4]]], {}, 5),
    ("matrix_norm", [[[3.0, 0], [0, -4]]], {"order": "nuc"}, 7),
    ("matrix_norm", [[[3.0, 0], [0, -4]]], {"order": 2.0}, 4),
    ("matrix_norm", [[[3.0, 0], [0, -4]]], {"order": -2.0}, 3),
    ("matrix_norm", [[[1.0, -2], [3, 4]]], {"order": 1.0}, 6),
    ("matrix_norm", [[[1.0, -2], [3, 4]]], {"order": -1.0}, 4),
    ("matrix_norm", [[[1.0, -2], [3, 4]]], {"order": "inf"}, 7),
    ("matrix_norm", [[[1.0, -2], [3, 4]]], {"order": "-inf", "keepdims": True}, [[3]]),
]


@each_row(("name", "inputs", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, inputs: list[Any], attrs: dict[str, Any], wanted: Any) -> None:
    result = _call(name, *inputs, **attrs)
    assert result.shape == np.shape(wanted)
    np.testing.assert_allclose(result, wanted, atol=1e-12)


def test_the_logarithm_of_a_determinant() -> None:
    sign, logarithm = _call("slogdet", np.stack([SINGULAR, -3 * ONE, np.diag([-2.0, 1])]))
    np.testing.assert_array_equal(np.abs(sign), [0, 1, 1])
    np.testing.assert_allclose(logarithm, [-np.inf, 2 * np.log(3), np.log(2)])


def test_float16_is_worked_on_in_float32() -> None:
    x = np.array([[300.0, 0], [0, 300]], "float16")
    assert _call("inv", x).dtype == np.float16
    np.testing.assert_array_equal(_call("det", x), np.float16(np.inf))
    np.testing.assert_array_equal(_call("solve", x, x), ONE)


EDGES: list[tuple[str, Any, dict[str, Any], Any]] = [
    ("det", SINGULAR, {}, [[4, -2], [-2, 1]]),
    ("det", ZERO, {}, ZERO),
    ("det", np.diag([2.0, 3, 0]), {}, np.diag([0.0, 0, 6])),
    ("slogdet", ONE * 2, {"which": 1}, ONE / 2),
    ("slogdet", ONE * 2, {"which": 0}, None),
    ("eigvalsh", ONE, {}, ONE),
    ("svdvals", ONE, {}, ONE),
    ("eigh", ONE, {"which": 1}, NOT_A_NUMBER),
    ("svd", ONE, {"which": 0}, NOT_A_NUMBER),
    ("pinv", SINGULAR, {}, [[0.0048, -0.0144], [-0.0144, -0.0768]]),
    ("pinv", SINGULAR, {"hermitian": True}, [[0.0048, -0.0144], [-0.0144, -0.0768]]),
    ("matrix_norm", ZERO, {}, ZERO),
    ("matrix_norm", ZERO, {"order": 1.0}, ZERO),
    ("matrix_norm", ONE, {"order": 1.0}, ONE / 2),
    ("matrix_norm", ONE, {"order": 2.0}, ONE / 2),
    ("matrix_norm", ZERO, {"order": "nuc"}, ONE),
]


@each_row(("name", "array", "attrs", "wanted"), EDGES)
def test_gradients_at_degenerate_matrices(name: str, array: Any, attrs: dict[str, Any], wanted: Any) -> None:
    if wanted is None:
        x = tensor(array, requires_grad=True)
        created = OPS[name](x)
        assert pull_back([created[0]], [tensor(np.ones(()))], [x]) == [None]
        return
    np.testing.assert_allclose(_gradient(name, array, **attrs), wanted, atol=1e-12)


def test_the_gradient_of_a_singular_logarithm_is_infinite_and_no_error() -> None:
    assert not np.isfinite(_gradient("slogdet", SINGULAR, which=1)).any()


@pytest.mark.parametrize("array", [SINGULAR, ZERO, ONE])
def test_the_second_gradient_of_det_is_exact_for_singular_matrices(array: Any) -> None:
    x = tensor(array, requires_grad=True)
    one = tensor(np.ones(()))
    (first,) = pull_back([OPS["det"](x)], [one], [x])
    assert first is not None
    for row, column, wanted in ((0, 0, [[0, 0], [0, 1]]), (0, 1, [[0, 0], [-1, 0]])):
        (second,) = pull_back([first[row, column]], [one], [x])
        assert second is not None
        np.testing.assert_allclose(second.numpy(), wanted, atol=1e-12)


FAILING: list[tuple[str, list[Any], str]] = [
    ("inv", [SINGULAR], "inv: the matrix is singular"),
    ("inv", [np.stack([ONE, ZERO])], "inv: matrix 1 of the batch is singular"),
    ("solve", [SINGULAR, ONE], "solve: the matrix is singular"),
    ("solve", [np.stack([ONE, ONE, ZERO]), np.ones((3, 2))], "solve: matrix 2 of the batch is singular"),
    ("matrix_power", [ZERO], "is singular"),
    ("cholesky", [-ONE], "cholesky: the matrix is not positive definite"),
    ("cholesky", [NOT_A_NUMBER], "is not positive definite"),
    ("svd", [NOT_A_NUMBER], "svd: the matrix is not finite or does not converge"),
    # LAPACK would not come to an end.
    ("svd", [np.diag([np.inf, 1, 1])], "svd: the matrix is not finite or does not converge"),
    ("pinv", [NOT_A_NUMBER], "pinv: the matrix is not finite"),
]


@each_row(("name", "inputs", "message"), FAILING)
def test_numbers_without_a_result_are_reported(name: str, inputs: list[Any], message: str) -> None:
    with pytest.raises(NumericalError, match=message):
        OPS[name](*inputs, **({"exponent": -1} if name == "matrix_power" else {}))


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("inv", [np.ones((2, 3))], {}, r"inv needs square matrices \[..., n, n\], got shape \[2, 3\]"),
    ("det", [np.ones(3)], {}, r"det needs matrices \[..., rows, columns\], got shape \[3\]"),
    ("det", [np.ones((2, 2), int)], {}, "det needs floating inputs, got int64"),
    ("solve", [ONE, np.ones((3, 2))], {}, r"a system of \[2, 2\] needs right-hand sides \[..., 2, k\], got \[3, 2\]"),
    ("solve", [ONE, np.ones(2)], {"left": False}, "needs matrices"),
    ("solve_triangular", [ONE, np.ones(2)], {"upper": True}, "right-hand sides"),
    ("qr", [np.ones(3)], {}, "qr needs matrices"),
    ("cofactors_along", [ONE, np.ones((3, 3))], {}, r"the direction \[3, 3\] must have the shape \[2, 2\]"),
    ("lstsq", [np.ones(3), np.ones(3)], {}, "lstsq needs matrices"),
    ("matrix_norm", [ONE], {"order": 3.0}, "order 3.0 must be 'fro'"),
    ("matrix_norm", [ONE], {"order": "max"}, "order must be a number or one of 'fro'"),
    ("matrix_norm", [ONE], {"axis": (0, -2)}, r"axis \[0, -2\] must name two different axes"),
]


@each_row(("name", "inputs", "attrs", "message"), REFUSED)
def test_errors_name_the_numbers(name: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS[name](*inputs, **attrs)


def test_a_symmetric_matrix_that_is_not_finite_has_no_pseudo_inverse() -> None:
    with pytest.raises(NumericalError, match="pinv: matrix 1 of the batch is not finite"):
        OPS["pinv"](np.stack([ONE, NOT_A_NUMBER]), hermitian=True)


def test_the_symmetric_part_counts_for_hermitian_pseudo_inverses() -> None:
    x = np.array([[2.0, 1], [3, 5]])
    whole = (x + x.T) / 2
    np.testing.assert_allclose(_call("pinv", x, hermitian=True), np.linalg.inv(whole), rtol=1e-13)
    slope = _gradient("pinv", whole)
    np.testing.assert_allclose(_gradient("pinv", x, hermitian=True), (slope + slope.T) / 2, atol=1e-13)
