"""The workspace of kernels: levels that do not overlap, memory that is kept, one for each thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from engine.ops.kernels.blocks import KEPT_BYTES, Workspace

FLOAT32 = np.dtype(np.float32)


def test_arrays_of_open_levels_do_not_overlap() -> None:
    workspace = Workspace()
    for _ in range(3):  # the second time from memory that is kept
        with workspace:
            a = workspace.array((5, 3), FLOAT32)
            with workspace:
                b = workspace.array((7,), FLOAT32)
                assert not np.shares_memory(a, b)
            c = workspace.array((7,), FLOAT32)
            assert not np.shares_memory(a, c)
    assert np.shares_memory(b, c)


def test_what_a_call_has_taken_is_kept_for_the_next() -> None:
    workspace = Workspace()
    seen = []
    for _ in range(3):
        with workspace:
            seen.append(workspace.array((100,), FLOAT32).ctypes.data)
    assert seen[1] == seen[2]
    assert seen[1] % 64 == 0


def test_more_than_is_kept_can_be_taken() -> None:
    workspace = Workspace()
    for _ in range(2):
        with workspace:
            big, small = workspace.array((KEPT_BYTES,), FLOAT32), workspace.array((4,), FLOAT32)
            assert big.size == KEPT_BYTES
            assert not np.shares_memory(big, small)


def test_a_level_that_ends_in_an_error_is_given_back() -> None:
    workspace = Workspace()

    def failing() -> None:
        with workspace:
            workspace.array((8,), FLOAT32)
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        failing()
    with workspace:
        first = workspace.array((8,), FLOAT32)
    with workspace:
        assert np.shares_memory(workspace.array((8,), FLOAT32), first)


def test_threads_have_memory_of_their_own() -> None:
    workspace = Workspace()

    def filled(number: int) -> bool:
        with workspace:
            array = workspace.array((1000,), FLOAT32)
            array.fill(number)
            return bool((array == number).all())

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(filled, range(200)))


def test_only_what_lies_otherwise_is_copied() -> None:
    workspace, x = Workspace(), np.arange(6, dtype=np.float32).reshape(2, 3)
    with workspace:
        assert workspace.copied(x, FLOAT32) is x
        np.testing.assert_array_equal(workspace.copied(x.T, FLOAT32), x.T)
        assert workspace.copied(x.T, FLOAT32).flags.c_contiguous
