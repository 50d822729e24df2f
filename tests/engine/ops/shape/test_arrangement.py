"""Tiling, moving, bordering, masking and cutting: known answers, gradients and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import EngineError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

X = np.arange(6.0).reshape(2, 3)
V = np.arange(5.0)

KNOWN: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("repeat", [X], {"repeats": (2, 1)}, np.tile(X, (2, 1))),
    ("repeat", [X], {"repeats": (2,)}, np.tile(X, 2)),
    ("repeat", [X], {"repeats": (2, 1, 2)}, np.tile(X, (2, 1, 2))),
    ("repeat", [X], {"repeats": (0, 2)}, np.zeros((0, 6))),
    ("repeat_back", [np.arange(8.0)], {"shape": (2,)}, np.array([12.0, 16])),
    ("repeat_back", [np.ones((4, 3))], {"shape": (3,)}, np.full(3, 4.0)),
    ("repeat_interleave", [X], {"repeats": 2, "axis": 1}, X.repeat(2, 1)),
    ("repeat_interleave", [X], {"repeats": 3}, X.repeat(3)),
    ("roll", [V], {"shifts": 2}, np.roll(V, 2)),
    ("roll", [X], {"shifts": (1, -4), "axis": (0, 1)}, np.roll(X, (1, -4), (0, 1))),
    ("roll", [X], {"shifts": 1}, np.roll(X, 1)),
    ("roll", [np.zeros((0, 2))], {"shifts": 1, "axis": 0}, np.zeros((0, 2))),
    ("movedim", [np.ones((2, 3, 4))], {"source": (0, 1), "destination": (-1, 0)}, np.ones((3, 4, 2))),
    ("pad", [V], {"widths": ((2, 3),), "mode": "reflect"}, np.pad(V, (2, 3), "reflect")),
    ("pad", [V], {"widths": ((2, 7),), "mode": "replicate"}, np.pad(V, (2, 7), "edge")),
    ("pad", [V], {"widths": ((5, 1),), "mode": "circular"}, np.pad(V, (5, 1), "wrap")),
    ("pad_reflect_1d", [X], {"before": 1, "after": 2}, np.pad(X, ((0, 0), (1, 2)), "reflect")),
    ("tril", [X], {}, np.tril(X)),
    ("tril", [X], {"diagonal": -5}, np.zeros((2, 3))),
    ("triu", [np.full((2, 2), np.nan)], {"diagonal": 1}, np.array([[0, np.nan], [0, 0]])),
    ("diag_mask_inf", [X], {"n_past": 1}, np.array([[0, 1, -np.inf], [3, 4, 5]])),
    ("diag_mask_zero", [X + 1], {}, np.array([[1.0, 0, 0], [4, 5, 0]])),
    ("diag", [np.array([1.0, 2])], {"offset": -1}, np.diag([1.0, 2], -1)),
    ("diag", [X], {"offset": 1}, np.array([1.0, 5])),
    ("diagonal", [X], {"offset": 9}, np.zeros(0)),
    ("diag_embed", [X], {}, np.stack([np.diag(row) for row in X])),
    ("trace", [X], {}, np.array(4.0)),
    ("strided_slice", [X], {"shape": (2, 2), "strides": (1, 3), "offset": 1}, np.array([[1.0, 4], [2, 5]])),
    ("slice_set", [V, [9.0, 8]], {"strides": (2,), "offset": 1}, np.array([0.0, 9, 2, 8, 4])),
    ("slice_add", [X, [[9.0, 8]]], {"strides": (3, 1), "offset": 4}, np.array([[0.0, 1, 2], [3, 13, 13]])),
    ("unfold", [V], {"axis": 0, "size": 2, "step": 3}, np.array([[0.0, 1], [3, 4]])),
    ("unfold_back", [np.ones((4, 2))], {"axis": 0, "extent": 5}, np.array([1.0, 2, 2, 2, 1])),
]


@each_row(("name", "inputs", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, inputs: list[Any], attrs: dict[str, Any], wanted: Any) -> None:
    result = OPS[name](*inputs, **attrs)
    assert result.shape == wanted.shape
    np.testing.assert_array_equal(result.numpy(), wanted)


def test_several_results() -> None:
    assert [part.numpy().tolist() for part in OPS["unbind"](X, axis=1)] == [[0, 3], [1, 4], [2, 5]]
    for indexing in ("ij", "xy"):
        actual = OPS["meshgrid"](np.arange(2.0), np.arange(3.0), np.arange(4.0), indexing=indexing)
        wanted = np.meshgrid(np.arange(2.0), np.arange(3.0), np.arange(4.0), indexing=indexing)
        for value, array in zip(actual, wanted, strict=True):
            np.testing.assert_array_equal(value.numpy(), array)


GRADIENTS: list[tuple[str, Any, dict[str, Any], Any]] = [
    ("repeat", X, {"repeats": (2, 3)}, np.full((2, 3), 6.0)),
    ("pad", V, {"widths": ((2, 1),), "mode": "reflect"}, [1, 2, 2, 2, 1]),
    ("pad", V, {"widths": ((2, 1),), "mode": "replicate"}, [3, 1, 1, 1, 2]),
    ("pad", V, {"widths": ((2, 1),), "mode": "circular"}, [2, 1, 1, 2, 2]),
    ("unfold", V, {"axis": 0, "size": 3}, [1, 2, 3, 2, 1]),
    ("diag_mask_zero", X, {}, [[1, 0, 0], [1, 1, 0]]),
]


@each_row(("name", "array", "attrs", "wanted"), GRADIENTS)
def test_a_gradient_counts_the_copies(name: str, array: Any, attrs: dict[str, Any], wanted: Any) -> None:
    x = tensor(array, requires_grad=True)
    OPS[name](x, **attrs).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), wanted)


def test_a_mask_of_minus_infinity_passes_the_gradient_of_what_it_keeps() -> None:
    x = tensor(X, requires_grad=True)
    OPS["diag_mask_inf"](x, n_past=0).backward(np.ones((2, 3)))
    np.testing.assert_array_equal(x.grad.numpy(), [[1, 0, 0], [1, 1, 0]])


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("repeat", [X], {"repeats": (-1, 2)}, r"repeats \[-1, 2\] must be at least 0"),
    ("repeat_back", [V], {"shape": (2,)}, r"\[5\] is not made of whole tiles of \[2\]"),
    ("repeat_back", [V], {"shape": (5, 5)}, "whole tiles"),
    ("repeat_interleave", [X], {"repeats": -2}, "repeats -2 must be at least 0"),
    ("unbind", [np.ones(())], {}, "unbind needs an axis of extent at least 1"),
    ("unbind", [np.ones(1001)], {}, "extent 1001, more than 1000; use slice or split"),
    ("roll", [X], {"shifts": (1, 2), "axis": 0}, "2 shifts for 1 axes"),
    ("movedim", [X], {"source": (0, 1), "destination": 0}, "equally many axes"),
    ("movedim", [X], {"source": (0, 0), "destination": (0, 1)}, "each once"),
    ("meshgrid", [X], {}, r"meshgrid needs vectors, got shapes \[2, 3\]"),
    ("pad", [V], {"widths": ((5, 0),), "mode": "reflect"}, r"\[5, 0\] around axis 0 of extent 5 .* at most extent - 1"),
    ("pad", [V], {"widths": ((0, 6),), "mode": "circular"}, "too wide for mode 'circular'; at most extent"),
    ("pad", [np.zeros(0)], {"widths": ((0, 1),), "mode": "replicate"}, "none of an empty axis"),
    ("pad_back", [V], {"widths": ((2, 2),), "mode": "reflect"}, "too wide"),
    ("pad_back", [V], {"widths": ((3, 3),), "mode": "circular"}, "are not those of a pad"),
    ("tril", [V], {}, r"tril needs matrices \[..., rows, columns\], got shape \[5\]"),
    ("diag_mask_inf", [np.ones((2, 2), "int64")], {}, "needs floating inputs"),
    ("diagonal", [X], {"axis0": 1, "axis1": -1}, "two different axes"),
    ("diagonal_scatter", [V], {"shape": (2, 2)}, r"the diagonal 0 of \[2, 2\] has shape \[2\], not \[5\]"),
    ("diag", [np.ones((1, 1, 1))], {}, "use diag_embed or diagonal"),
    ("diag_embed", [np.ones(())], {}, "at least one axis"),
    ("strided_slice", [V], {"shape": (3,), "strides": (2,), "offset": 1}, "ends at element 5, the value has 5"),
    ("strided_slice", [V], {"shape": (2, 2), "strides": (1, 1)}, "overlap itself"),
    ("strided_slice", [V], {"shape": (2,), "strides": (0,)}, "at least 1"),
    ("strided_slice", [V], {"shape": (-2,), "strides": (1,)}, "no negative extent"),
    ("slice_set", [V, [1.0, 2]], {"strides": (1, 1)}, r"strides \[1, 1\] must be 1 numbers"),
    ("slice_add", [V, [1.0, 2]], {"strides": (1,), "offset": -1}, "offset -1 at least 0"),
    ("unfold", [V], {"axis": 0, "size": 6}, "windows of 6 do not fit axis 0"),
    ("unfold_back", [np.ones((3, 2))], {"axis": 0, "extent": 5}, "are not the windows every 1"),
]


@each_row(("name", "inputs", "attrs", "message"), REFUSED)
def test_errors_name_the_numbers(name: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        OPS[name](*inputs, **attrs)
