"""Rearranging: known answers, indexing of values, and errors that name the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.core.errors import EngineError, ShapeError
from engine.core.value import tensor
from engine.ops import OPS
from tests.support.rows import each_row

X = np.arange(24.0).reshape(2, 3, 4)

KNOWN: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("reshape", [X], {"shape": (4, -1)}, X.reshape(4, 6)),
    ("reshape", [np.zeros((0, 3))], {"shape": (3, 0)}, np.zeros((3, 0))),
    ("flatten", [X], {"start": 1}, X.reshape(2, 12)),
    ("flatten", [np.ones(())], {}, np.ones(1)),
    ("permute", [X], {"axes": (2, 0, -2)}, X.transpose(2, 0, 1)),
    ("transpose", [X], {}, X.swapaxes(1, 2)),
    ("transpose", [X], {"axis0": 0, "axis1": -1}, X.swapaxes(0, 2)),
    ("squeeze", [np.ones((1, 3, 1))], {}, np.ones(3)),
    ("squeeze", [np.ones((1, 3, 1))], {"axis": -1}, np.ones((1, 3))),
    ("unsqueeze", [X], {"axis": -1}, X[..., None]),
    ("broadcast_to", [np.ones((2, 1))], {"shape": (4, -1, 3)}, np.ones((4, 2, 3))),
    ("concat", [np.ones((2, 1)), np.zeros((2, 2))], {"axis": 1}, np.array([[1.0, 0, 0], [1, 0, 0]])),
    ("concat", [np.ones(0), np.ones(2)], {}, np.ones(2)),
    ("stack", [np.ones(2), np.zeros(2)], {"axis": -1}, np.array([[1.0, 0], [1, 0]])),
    ("slice", [X], {"axis": 2, "start": -3, "stop": None, "step": 2}, X[:, :, -3::2]),
    ("slice", [X], {"axis": 0, "start": 5}, X[5:]),
    ("flip", [X], {"axis": (0, 2)}, X[::-1, :, ::-1]),
    ("pad", [np.ones((1, 2))], {"widths": ((1, 0), (0, 2)), "value": 5.0}, np.array([[5.0] * 4, [1, 1, 5, 5]])),
    ("slice_scatter", [np.ones(2)], {"axis": 0, "extent": 5, "start": 1, "step": 2}, np.array([0.0, 1, 0, 1, 0])),
    ("pack", [np.ones((2, 1)), np.full(1, 3.0)], {"offsets": (1, 4), "size": 6}, np.array([0.0, 1, 1, 0, 3, 0])),
]


@each_row(("name", "inputs", "attrs", "wanted"), KNOWN)
def test_known_answers(name: str, inputs: list[Any], attrs: dict[str, Any], wanted: Any) -> None:
    result = OPS[name](*inputs, **attrs)
    assert result.shape == wanted.shape
    np.testing.assert_array_equal(result.numpy(), wanted)


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("slice_scatter", [np.ones(2)], {"axis": 0, "extent": 3, "start": 1, "step": 2}, "does not fit axis 0 of extent 3"),
    ("slice_scatter", [np.ones(2)], {"axis": 0, "extent": 3, "start": -1}, r"\[2\] from -1 in steps of 1 does not fit"),
    ("reshape", [X], {"shape": (5, 5)}, r"cannot reshape \[2, 3, 4\] \(24 elements\) to \[5, 5\] \(25\)"),
    ("reshape", [X], {"shape": (-1, -1)}, "may hold one -1"),
    ("reshape", [X], {"shape": (-1, 5)}, r"cannot reshape \[2, 3, 4\]"),
    ("reshape", [X], {"shape": (-2, 12)}, "no other negative extent"),
    ("reshape", [np.zeros((0, 3))], {"shape": (-1, 0)}, "cannot reshape"),
    ("flatten", [X], {"start": 2, "end": 0}, "start 2 lies after end 0"),
    ("permute", [X], {"axes": (0, 1)}, "must name each of the 3 axes once"),
    ("permute", [X], {"axes": (0, 1, 1)}, "must name each of the 3 axes once"),
    ("transpose", [np.ones(3)], {}, r"at least two axes, got shape \[3\]"),
    ("squeeze", [X], {"axis": 1}, "cannot squeeze axis 1 of extent 3"),
    ("unsqueeze", [X], {"axis": 4}, "axis 4 is out of range"),
    ("broadcast_to", [np.ones((2, 3))], {"shape": (3,)}, "does not broadcast"),
    ("broadcast_to", [np.ones(2)], {"shape": (3,)}, "do not broadcast"),
    ("concat", [], {}, r"concat takes \(\*xs\), got 0 inputs"),
    ("concat", [np.ones((2, 2)), np.ones((3, 3))], {"axis": 0}, r"\[2, 2\] and \[3, 3\] must agree except on axis 0"),
    ("concat", [np.ones(())], {}, "use stack for scalars"),
    ("stack", [np.ones(2), np.ones(3)], {}, r"inputs of one shape, got \[2\], \[3\]"),
    ("slice", [X], {"step": 0}, "slice step 0 must be at least 1"),
    ("slice", [np.ones(())], {}, "at least one axis"),
    ("split", [X], {"sizes": (1, 2), "axis": 2}, r"split sizes \[1, 2\] must add up to the extent 4 of axis 2"),
    ("chunk", [X], {"chunks": 0}, "chunks 0 must be at least 1"),
    ("pad", [X], {"widths": ((0, 0),)}, "for each of the 3 axes"),
    ("pad", [np.ones(1)], {"widths": ((-1, -1),)}, "cut more off"),
    ("flip", [X], {"axis": 3}, "axis 3 is out of range"),
]


@each_row(("name", "inputs", "attrs", "message"), REFUSED)
def test_what_does_not_fit_is_refused(name: str, inputs: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        OPS[name](*inputs, **attrs)


def test_splitting_and_joining_are_inverse() -> None:
    for axis, sizes in ((0, (1, 1)), (1, (2, 0, 1)), (2, (4,))):
        pieces = OPS["split"](X, sizes=sizes, axis=axis)
        assert [piece.shape[axis] for piece in pieces] == list(sizes)
        np.testing.assert_array_equal(OPS["concat"](*pieces, axis=axis).numpy(), X)
    assert [piece.shape[0] for piece in OPS["chunk"](np.ones(7), chunks=3)] == [3, 3, 1]


def test_views_share_memory_and_copies_do_not() -> None:
    for name, attrs in (("reshape", {"shape": (-1,)}), ("permute", {"axes": (1, 0, 2)}), ("slice", {"start": 1})):
        assert OPS[name].view
        leaf = tensor(X)
        assert np.shares_memory(OPS[name](leaf, **attrs).numpy(), leaf.numpy())
    leaf = tensor(X)
    assert not np.shares_memory(OPS["copy"](leaf).numpy(), leaf.numpy())


@each_row(
    "index",
    [
        0,
        -1,
        slice(1, 2),
        (slice(None), 1),
        (..., -1),
        (0, ..., slice(None, None, 2)),
        (None, 1),
        (slice(None), None, 2, slice(1, None)),
        (1, 2, 3),
        slice(-5, 100),
        np.int64(1),
    ],
)
def test_indexing_follows_numpy(index: Any) -> None:
    result = tensor(X)[index]
    assert result.shape == np.shape(X[index])
    np.testing.assert_array_equal(result.numpy(), X[index])


@each_row(
    ("index", "message"),
    [
        (2, "index 2 is out of range for axis 0 of extent 2"),
        ((0, 0, -5), "index -5 is out of range"),
        ((0, 0, 0, 0), "too many indices: 4 for 3 axes"),
        (1.5, "an index is an integer, a slice, None, ..., an integer array or a mask, not float"),
        (True, "not bool"),
        (slice(None, None, 0), "slice step 0 must"),
    ],
)
def test_a_bad_index_is_refused(index: Any, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        tensor(X)[index]


def test_the_gradient_of_an_index_lands_where_it_was_taken() -> None:
    x = tensor(X, requires_grad=True)
    (x[1, :, ::2] * 3.0).sum().backward()
    wanted = np.zeros_like(X)
    wanted[1, :, ::2] = 3
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), wanted)
