"""Products: einsum against NumPy, the products of ggml, experts, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import EngineError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row


def _array(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("zA,ab", [(2, 3), (2, 4)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("ijij->ij", [(2, 3, 2, 3)]),
    ("iij,jkk->ik", [(2, 2, 3), (3, 2, 2)]),
    ("ij->", [(2, 3)]),
    (" i , i -> ", [(3,), (3,)]),
    ("i,j->ji", [(2,), (3,)]),
    (",ij->ij", [(), (2, 2)]),
    ("ij,jk->ik", [(2, 0), (0, 3)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...ii->...", [(2, 3, 3)]),
    ("a...b,b...c", [(2, 4, 3), (3, 4, 5)]),
    ("ab,bc,cd,da", [(2, 3), (3, 4), (4, 2), (2, 2)]),
    ("bhqd,bhkd->bhqk", [(1, 2, 3, 4), (1, 2, 5, 4)]),
]


@each_row(("equation", "shapes"), EQUATIONS)
def test_einsum_gives_what_numpy_gives(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [_array(*shape) for shape in shapes]
    result, wanted = OPS["einsum"](*arrays, equation=equation), np.einsum(equation, *arrays)
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_an_extent_of_one_stands_for_a_longer_one() -> None:
    a, b = _array(2, 1), _array(3, 4)
    np.testing.assert_allclose(OPS["einsum"](a, b, equation="ij,jk->ik").numpy(), a * b.sum(axis=0))


def test_a_chain_is_multiplied_in_the_cheapest_order() -> None:
    a, b, c = (tensor(_array(*shape), requires_grad=True) for shape in ((50, 2), (2, 50), (50, 1)))
    created = OPS["einsum"](a, b, c, equation="ij,jk,kl->il")
    sizes, waiting = [], [created.node]
    while waiting:
        node = waiting.pop()
        if node is not None:
            sizes += [spec.shape for spec in node.outputs]
            waiting += [value.node for value in node.inputs]
    assert max(np.prod(shape) for shape in sizes) < 50 * 50


def test_float16_accumulates_in_float32() -> None:
    halves = np.full((1, 4096), 8, "float16")
    assert OPS["einsum"](halves, halves, equation="ik,jk->ij").numpy() == np.inf
    assert OPS["einsum"](halves / 8, halves / 64, equation="ik,jk->ij").numpy() == 512


KNOWN: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("outer", [[1.0, 2], [3.0, 4, 5]], {}, [[3, 4, 5], [6, 8, 10]]),
    ("kron", [[[1.0, 2]], [[1.0], [3]]], {}, [[1, 2], [3, 6]]),
    ("kron", [[1.0, 2], [[1.0], [3]]], {}, [[1, 2], [3, 6]]),
    ("cross", [[1.0, 0, 0], [0.0, 1, 0]], {}, [0, 0, 1]),
    ("dot", [[1.0, 2], [3.0, 4]], {}, 11),
    ("addmm", [[np.nan], [[1.0, 2]], [[3.0], [4]]], {"beta": 0.0, "alpha": 2.0}, [[22]]),
    ("addmm", [[1.0], [[1.0, 2]], [[3.0], [4]]], {"beta": 0.5}, [[11.5]]),
    ("baddbmm", [[[[1.0]]], [[[1.0, 2]]], [[[3.0], [4]]]], {}, [[[12]]]),
    ("bilinear", [[1.0, 2], [3.0], [[[1.0], [1]]], [1.0]], {}, [10]),
    ("tensordot", [np.ones((2, 3)), np.ones((2, 3))], {}, 6),
    ("tensordot", [np.ones((2, 3)), np.ones((4, 3))], {"axes": ((1,), (-1,))}, np.full((2, 4), 3)),
    ("tensordot", [np.ones(2), np.ones(3)], {"axes": 0}, np.ones((2, 3))),
    # ggml writes the shape of a [2, 1] matrix as ne = [1, 2]: rows of a against rows of b
    ("mul_mat", [[[1.0], [2]], [[3.0], [4], [5]]], {}, [[3, 6], [4, 8], [5, 10]]),
    ("out_prod", [[[1.0, 2]], [[3.0, 4, 5]]], {}, [[3, 6], [4, 8], [5, 10]]),
    # neighbours of the second batch share a matrix of the first, as i12 / r2 in ggml
    ("mul_mat", [[[[1.0]], [[10]]], [[[1.0]], [[2]], [[3]], [[4]]]], {}, [[[1]], [[2]], [[30]], [[40]]]),
    ("out_prod", [[[[1.0]], [[10]]], [[[1.0]], [[2]], [[3]], [[4]]]], {}, [[[1]], [[2]], [[30]], [[40]]]),
    ("mul_mat_id", [[[[1.0]], [[10]]], [[[2.0]], [[3]]], np.array([[0, 1], [1, 1]])], {}, [[[2], [20]], [[30], [30]]]),
]


@each_row(("name", "inputs", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, inputs: list[Any], attrs: dict[str, Any], wanted: Any) -> None:
    result = OPS[name](*inputs, **attrs)
    assert result.shape == np.shape(wanted)
    np.testing.assert_array_equal(result.numpy(), wanted)


def test_an_expert_without_tokens_gets_a_gradient_of_zeros() -> None:
    experts = tensor(np.ones((3, 1, 2)), requires_grad=True)
    OPS["mul_mat_id"](experts, np.ones((2, 1, 2)), np.array([[0], [2]])).sum().backward()
    np.testing.assert_array_equal(experts.grad.numpy(), [[[1, 1]], [[0, 0]], [[1, 1]]])


M = np.ones((2, 3))
REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("einsum", [M], {"equation": "ij,jk"}, "names 2 operands, 1 are given"),
    ("einsum", [M], {"equation": "i"}, "operand 0 has 2 axes, 'i' in 'i' names 1"),
    ("einsum", [M], {"equation": "...ijk"}, "operand 0 has 2 axes"),
    ("einsum", [M], {"equation": "i2"}, "may hold letters"),
    ("einsum", [M], {"equation": "......"}, "one '...' for each operand"),
    ("einsum", [M], {"equation": "ij->ik"}, "must name labels of the operands, each once"),
    ("einsum", [M], {"equation": "ij->ii"}, "each once"),
    ("einsum", [M], {"equation": "ii"}, "label 'i' stands for extents 2 and 3 of one operand"),
    ("einsum", [M, M], {"equation": "ij,jk"}, "label 'j' stands for extents 3 and 2; they must agree"),
    ("einsum", [np.ones(1)] * 33, {"equation": ",".join("i" * 33)}, "33 operands are more than 32"),
    ("tensordot", [M, M], {"axes": 3}, r"axes 3 must be in 0\.\.2"),
    ("tensordot", [M, M], {"axes": 1}, r"axes \[1\] of \[2, 3\] and \[0\] of \[2, 3\] must have the same extents"),
    ("tensordot", [M, M], {"axes": ((0, 0), (0, 1))}, "each once"),
    ("outer", [M, M], {}, r"a first vector with 1 axes, got shape \[2, 3\]"),
    ("cross", [np.ones((3, 2)), np.ones((3, 2))], {}, "must have extent 3 on both sides"),
    ("cross", [np.ones(3), np.ones((1, 3))], {}, "one number of axes"),
    ("addmm", [np.ones(3), M, np.ones((3, 2))], {}, r"addmm: \[3\] does not broadcast|do not broadcast"),
    ("addmm", [np.ones((4, 2, 2)), M, np.ones((3, 2))], {}, r"addmm: \[4, 2, 2\] does not broadcast to .* \[2, 2\]"),
    ("baddbmm", [1.0, np.ones((2, 1, 1)), np.ones((1, 1, 1))], {}, "batches of 2 and 1 matrices"),
    ("bilinear", [M, M, np.ones((1, 3, 2))], {}, r"must fit the weight \[out, in1, in2\] \[1, 3, 2\]"),
    ("mul_mat", [M, np.ones((2, 2))], {}, r"rows of \[2, 3\] and \[2, 2\] must be equally long"),
    (
        "mul_mat",
        [np.ones((2, 1, 3)), np.ones((3, 1, 3))],
        {},
        r"the batch \[3\] of the second must be a multiple .* \[2\]",
    ),
    ("out_prod", [M, np.ones((3, 2))], {}, "must have equally many rows"),
    ("out_prod", [np.ones(3), M], {}, "needs matrices on both sides"),
    ("mul_mat_id", [np.ones((2, 1, 3)), np.ones((1, 2, 3)), [[0, 1, 0]]], {}, r"do not fit experts \[2, 1, 3\]"),
    ("mul_mat_id", [np.ones((2, 1, 1)), np.ones((1, 1, 1)), [[2]]], {}, "index 2 is out of range"),
    ("grouped_product", [M, np.ones((1, 2, 2)), [0, 0]], {}, r"weights \[groups, 3, out\]"),
    ("grouped_product", [M, np.ones((1, 3, 2), "float32"), [0, 0]], {}, "one dtype, got float64 and float32"),
    ("grouped_outer", [M, np.ones((1, 2)), [0, 0]], {"groups": 1}, "equally many rows"),
]


@each_row(("name", "inputs", "attrs", "message"), REFUSED)
def test_errors_name_the_numbers(name: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS[name](*inputs, **attrs)
