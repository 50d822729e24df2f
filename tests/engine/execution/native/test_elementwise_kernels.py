"""Elementwise ops: compiled and NumPy's kernels agree, on odd numbers, broadcast operands and views."""

import os
from itertools import permutations, product

import numpy as np
import pytest

from engine.core.attributes import bind
from engine.core.registry import OPS
from engine.execution.native.kernels.comparing import COMPARISONS, TESTS
from engine.execution.native.kernels.elementwise import BINARY, OF_WHOLE, UNARY, WITH_ITSELF
from engine.execution.native.kernels.functions import BINARY as MORE_BINARY
from engine.execution.native.kernels.functions import UNARY as MORE_UNARY
from engine.execution.native.kernels.integers import BITS, DIVISIONS
from engine.execution.native.lowering import Work
from engine.execution.native.packing import MOST_COPIED, calls_of
from tests.extent import paired
from tests.support.rows import each_row

ODD = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-30, 1e30, 0.5, 2, 80, -80, 1e-10, -1e-10, 700, -700]
FLOATS = (np.float32, np.float64)
OPERANDS = [((4, 6), (6,)), ((4, 6), ()), ((), (4, 6)), ((4, 1), (1, 6)), ((4, 6), (4, 6))]


def numbers(dtype):
    rng = np.random.default_rng(0)
    odd = np.array(ODD, dtype)
    return np.concatenate([odd, np.finfo(dtype).max[None], rng.standard_normal(300).astype(dtype)])


def close(pair):
    for actual, expected in zip(*pair, strict=True):
        epsilon = np.finfo(expected.dtype).eps
        np.testing.assert_allclose(actual, expected, rtol=16 * epsilon, atol=epsilon, equal_nan=True)


@each_row("dtype", FLOATS)
@each_row("op", [*UNARY, *MORE_UNARY])
def test_functions_of_one_number(op, dtype, run_both):
    x = numbers(dtype)
    close(run_both(op, x))
    close(run_both(op, np.broadcast_to(x[::3], (3, x[::3].size)).T))


@each_row("op", [*UNARY, *MORE_UNARY])
def test_functions_of_one_number_in_place(op, compiled, run_both):
    x = np.random.default_rng(1).standard_normal(100).astype(np.float32)
    actual = run_both(op, x)[0][0]
    assert compiled(op, [x], [x], {})
    np.testing.assert_array_equal(x, actual)


@each_row("op", [*BINARY, *MORE_BINARY])
def test_functions_of_two_numbers(op, run_both):
    attrs = {"zero_grad_at_neg_inf": False} if op == "logaddexp" else {}
    for dtype in FLOATS:
        x, y = (grid.reshape(-1) for grid in np.meshgrid(np.array(ODD, dtype), np.array(ODD, dtype)))
        # The results of activations, which their gradients are given, lie in -1..1.
        close(run_both(op, x, np.clip(y, -1, 1) if "backward" in op else y, **attrs))
        rng = np.random.default_rng(2)
        for first, second in OPERANDS:
            close(run_both(op, *(np.asarray(rng.standard_normal(shape), dtype) for shape in (first, second)), **attrs))
        close(run_both(op, *(np.asarray(rng.standard_normal((4, 6)), dtype)[:, ::2] for _ in range(2)), **attrs))


@each_row("op", ["div", "eq", "tanh", "where"])
@each_row("dtype", FLOATS)
def test_operands_whose_columns_are_neighbours(op, dtype, run_both):
    rng = np.random.default_rng(6)
    full, turned, column = (rng.standard_normal(shape).astype(dtype).T for shape in ((19, 40), (40, 19), (1, 40)))
    for order in permutations((full, turned.T.copy(order="F"), column)):
        chosen = [order[0] > 0, *order[1:]] if op == "where" else order[: 1 if op == "tanh" else 2]
        if any(operand.shape == full.shape for operand in chosen):
            actual, expected = run_both(op, *chosen)
            np.testing.assert_allclose(actual[0], expected[0], rtol=16 * np.finfo(dtype).eps)


@each_row(("op", "attrs"), [("leaky_relu", {}), ("clamp", {"min": -0.5, "max": 0.5}), ("gelu", {})])
def test_functions_with_numbers_read_columns_by_registers(op, attrs, run_both):
    x = np.random.default_rng(7).standard_normal((40, 19)).astype(np.float32).T
    given = bind(op, OPS[op].attributes, attrs)
    calls = calls_of(op, Work([x], [np.empty(x.shape, np.float32)], given))
    assert calls[0].kernel.name == "transposed_copy"
    actual, expected = run_both(op, x, **attrs)
    np.testing.assert_allclose(actual[0], expected[0], rtol=16 * np.finfo(np.float32).eps)


@each_row(("rows", "copied"), [(48, True), (MOST_COPIED // 64, False)])
def test_operands_whose_columns_are_neighbours_are_copied_if_they_are_not_large(rows, copied):
    x, out = np.empty((64, rows), np.float32).T, np.empty((rows, 64), np.float32)
    kernels = [call.kernel.name for call in calls_of("tanh", Work([x], [out], {}))]
    assert kernels == (["transposed_copy", "tanh"] if copied else ["tanh"])


@each_row("op", ["div", "sub"])
@each_row("place", [0, 1])
def test_functions_of_two_numbers_in_place(op, place, compiled, run_both):
    rng = np.random.default_rng(3)
    operands = [rng.standard_normal(100) for _ in range(2)]
    actual = run_both(op, *operands)[0][0]
    assert compiled(op, operands, [operands[place]], {})
    np.testing.assert_array_equal(operands[place], actual)


@each_row("dtype", [*FLOATS, np.int64, np.int32])
@each_row("columns", [2, 3, 8, 15, 16, 17])
def test_rows_that_fit_a_register(columns, dtype, compiled, run_both):
    """With broadcast operands, of more and fewer rows than a block has; nothing outside of the result is written."""
    whole, rows = (3, 259, columns), (259, columns)
    rng = np.random.default_rng(8)
    operands = [
        rng.integers(-99, 99, shape).astype(dtype)
        for shape in (whole, (3, 259, 1), (3, 1, columns), rows, (259, 1), (columns,), (3, 1, 1))
    ]
    for x in operands:
        memory = np.full((3 * 259 + 2) * columns, 7, dtype)
        out = memory[columns:-columns].reshape(whole)
        for first, second in ((x, operands[0]), (operands[0], x)):
            ((actual,), (expected,)) = run_both("sub", first, second, outputs=[out])
            np.testing.assert_array_equal(actual, expected)
            over = operands[0].copy()
            assert compiled("sub", [over if o is operands[0] else o for o in (first, second)], [over], {})
            np.testing.assert_array_equal(over, expected)
        assert compiled("copy", [np.broadcast_to(x, whole)], [out], {})
        np.testing.assert_array_equal(out, np.broadcast_to(x, whole))
        assert (memory[:columns] == 7).all()
        assert (memory[-columns:] == 7).all()
        wider = np.full((3, 259, columns + 1), 7, dtype)
        run_both("sub", x, operands[0], outputs=[wider[..., 1:]])
        np.testing.assert_array_equal(wider[..., 1:], x - operands[0])
        assert (wider[..., 0] == 7).all()


@each_row("op", WITH_ITSELF)
def test_functions_of_a_number_and_itself(op, compiled, run_both):
    x = np.random.default_rng(9).standard_normal((12, 14))
    for operand in (x, x[:, ::2], x.T):
        ((actual,), (expected,)) = run_both(op, operand, operand)
        np.testing.assert_array_equal(actual, expected)
        over = operand.copy(order="A")
        assert compiled(op, [over, over], [over], {})
        np.testing.assert_array_equal(over, expected)


@each_row(("op", "dtype"), paired([*OF_WHOLE], (np.int64, np.int32)))
def test_whole_numbers(op, dtype, run_both):
    rng = np.random.default_rng(4)
    for shapes in OPERANDS:
        operands = [np.asarray(rng.integers(-99, 99, shape), dtype) for shape in shapes]
        actual, expected = run_both(op, *operands[: 1 if op in UNARY else 2])
        np.testing.assert_array_equal(actual[0], expected[0])


@each_row("op", [*DIVISIONS, *BITS])
@each_row("dtype", [np.int64, np.int32])
def test_integers_of_all_signs_and_the_extreme_ones(op, dtype, run_both):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.min + 1, -70, -9, -2, -1, 0, 1, 2, 9, 31, 32, 63, 64, limits.max], dtype)
    x, y = np.meshgrid(values, values[values != 0] if op in DIVISIONS else values)
    for first, second in ((x, y), (x.T, y.T), (x[:, ::2], y[:, ::2]), (x, np.asarray(dtype(7)))):
        actual, expected = run_both(op, first, second)
        np.testing.assert_array_equal(actual[0], expected[0])


@each_row("op", DIVISIONS)
def test_an_integer_divided_by_0_is_refused(op, compiled):
    x = np.arange(-3, 4)
    assert not compiled(op, [x, x], [np.zeros_like(x)], {})


@each_row("attrs", [{"min": -2.5, "max": 3.0}, {"min": 1.0}, {"max": 1e30}, {"min": 5, "max": 2}])
def test_limits_of_integers(attrs, run_both):
    for dtype in (np.int64, np.int32):
        x = np.arange(-12, 12, dtype=dtype).reshape(4, 6)
        for operand in (x, x[:, ::2], x.T):
            actual, expected = run_both("clamp", operand, **attrs)
            np.testing.assert_array_equal(actual[0], expected[0])


def test_inverted_bits_and_halves_rounded_to_even_numbers(run_both):
    for op, x in (
        ("bitwise_not", np.arange(-5, 5)),
        ("round", np.arange(-3.5, 4, 0.5)),
        ("round", numbers(np.float32)),
    ):
        actual, expected = run_both(op, x)
        np.testing.assert_array_equal(actual[0], expected[0])


@each_row(
    ("op", "attrs"),
    [
        ("clamp", {"min": -0.5}),
        ("clamp", {"min": -0.5, "max": 0.25}),
        ("scale", {"factor": -2.0, "bias": 0.5}),
        ("threshold", {"threshold": 0.1, "value": -3.0}),
    ],
)
def test_functions_with_numbers_as_attributes(op, attrs, run_both):
    for dtype in FLOATS:
        close(run_both(op, numbers(dtype), **attrs))


@each_row(("op", "dtype"), [*product(COMPARISONS, FLOATS), *paired([*COMPARISONS], (np.int64, np.bool_))])
def test_comparisons(op, dtype, run_both):
    rng = np.random.default_rng(5)
    values = ODD if np.issubdtype(dtype, np.floating) else [0, 1, 1, 0]
    x, y = (grid.reshape(-1).astype(dtype) for grid in np.meshgrid(values, values))
    pairs = [(x, y), *([np.asarray(rng.integers(0, 2, shape), dtype) for shape in shapes] for shapes in OPERANDS)]
    for pair in pairs:
        actual, expected = run_both(op, *pair)
        np.testing.assert_array_equal(actual[0], expected[0])


@each_row("op", TESTS)
def test_tests_of_one_number(op, run_both):
    for dtype in FLOATS:
        for x in (numbers(dtype), numbers(dtype)[:12].reshape(3, 4).T):
            actual, expected = run_both(op, x)
            np.testing.assert_array_equal(actual[0], expected[0])


@each_row("dtype", [np.float32, np.float64, np.int64])
@each_row("condition", [(4, 6), (6,), (4, 1), ()])
def test_choices(condition, dtype, run_both):
    rng = np.random.default_rng(6)
    for first, second in OPERANDS:
        x, y = (np.asarray(rng.integers(-9, 9, shape), dtype) for shape in (first, second))
        actual, expected = run_both("where", np.asarray(rng.random(condition) < 0.5), x, y)
        np.testing.assert_array_equal(actual[0], expected[0])


@each_row("place", [1, 2])
def test_choices_in_place(place, compiled, run_both):
    rng = np.random.default_rng(7)
    condition = rng.random((4, 6)) < 0.5
    for first, second in [((4, 6), (4, 6)), ((4, 6), ()), ((), (4, 6))]:
        operands = [condition, *(np.asarray(rng.standard_normal(shape)) for shape in (first, second))]
        if operands[place].ndim:
            actual = run_both("where", *operands)[0][0]
            assert compiled("where", operands, [operands[place]], {})
            np.testing.assert_array_equal(operands[place], actual)


@pytest.mark.law
@pytest.mark.parametrize("dtype", FLOATS)
def test_what_chains_cut_has_the_same_bits_wherever_in_a_row_it_stands(dtype, run_calls):
    """Rows of 7 numbers one by one, which fill no register, and all together."""
    x = np.random.default_rng(int(os.environ["LAW_SEED"])).uniform(-2, 2, (300, 7)).astype(dtype)
    checked = 0
    for name, op in OPS.items():
        if op.composite or len(op.inputs) != 1 or op.multi_output or any(a.required for a in op.attributes.values()):
            continue
        attrs, whole, by_rows = op.bind({}), np.zeros_like(x), np.zeros_like(x)
        calls = calls_of(name, Work([x], [whole], attrs)) if op.elementwise and not op.random else None
        if calls is None or not all(call.elementwise and not call.alone for call in calls):
            continue
        run_calls(calls)
        for row, out in zip(x, by_rows, strict=True):
            run_calls(calls_of(name, Work([row], [out], attrs)) or [])
        np.testing.assert_array_equal(whole, by_rows, name)
        checked += 1
    assert checked > 30


@pytest.mark.law
def test_broadcast_operands_of_random_extents(run_both):
    """Of 3 axes, the last one mostly short, with contiguous rows and others."""
    rng = np.random.default_rng(int(os.environ["LAW_SEED"]))
    for _ in range(150):
        shape = (rng.integers(1, 6), rng.integers(1, 600), rng.integers(1, 19))
        dtype, gap = rng.choice([np.float32, np.float64, np.int64]), rng.integers(0, 2, 2) * 3
        operands = [np.broadcast_to(broadcastable(rng, shape, extra).astype(dtype), shape) for extra in gap]
        ((actual,), (expected,)) = run_both(rng.choice(["add", "sub", "mul", "maximum"]), *operands)
        np.testing.assert_array_equal(actual, expected)
        ((actual,), (expected,)) = run_both("copy", operands[0])
        np.testing.assert_array_equal(actual, expected)


def broadcastable(rng, shape, gap):
    """Return random numbers that broadcast to a shape; `gap` numbers lie in memory between its rows."""
    extents = [extent if rng.random() < 0.6 else 1 for extent in shape]
    return rng.integers(-99, 99, (*extents[:-1], extents[-1] + gap))[..., : extents[-1]]
