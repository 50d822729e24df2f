"""How far compiled kernels may be from NumPy's: as far as NumPy's results move when its operations are a little off.

NumPy runs the program again with every floating leaf, and every result of an op whose compiled kernel need not give the
same bits, moved by a few units in the last place. The result shows for each element how well the program determines
it: cancellation, sums of many terms, steps at a bound that a number is next to. `cancellation.py` finds what cancels
inside an op. A program that is suspected is run in this way more often before it is called wrong, so that no chance
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import is_float
from engine.core.errors import REFUSALS, EngineError
from engine.core.value import Array
from engine.execution.native.lowering import LOWERINGS
from tests.engine.random_graphs.cancellation import cancelled
from tests.engine.random_graphs.executors import Results

UNITS = 4.0
"""Units in the last place by which numbers are moved: about what a kernel of one function may be off."""
FACTOR = 32.0
"""How many times farther than in the runs with moved numbers a result may be: their number is small, tails are long."""
RUNS = (0, 2, 8, 32)
"""How often NumPy has run so when results are looked at, until nothing is found wrong."""

SAME_BITS = (
    "abs", "add", "argmax", "cast", "ceil", "clamp", "clamp_max", "clamp_min", "class_index", "concat", "copy",
    "dropout_mask", "eq", "floor", "fmax", "fmin", "fold_in", "gather", "ge", "gt", "isfinite", "isinf",
    "isnan", "le", "lt", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "max_pool",
    "max_unpool", "minimum", "ne", "neg", "random_uniform", "relu", "relu_backward", "reshape", "scale",
    "sign", "slice_scatter", "sqrt", "square", "step", "sub", "threshold", "trunc", "where", "embedding",
    "amax", "amin", "arange", "argmin", "bin_argmax", "diag_mask_inf", "diagonal_scatter", "eye", "full",
    "hardtanh", "hardtanh_backward", "index_get", "linspace", "one_hot", "ones", "pad", "tril", "triu", "zeros",
)  # fmt: skip
"""Ops whose compiled kernels follow IEEE arithmetic, as NumPy's do.

Products are moved all the same: sums of a few equal numbers would be too exact otherwise, as the slopes of |x| are.
"""

ROUNDED_ONCE = ("scale",)
"""Of these, ops that compiled kernels compute in float32 in half types, where NumPy rounds between their operations."""

DECOMPOSITIONS = (
    "inv", "solve_matrix", "solve_triangular_left", "det", "cofactors", "slogdet", "cholesky", "reduced_qr",
    "orthogonal_complement", "eigh", "reduced_svd", "pinv", "matrix_exp",
)  # fmt: skip
"""Ops without compiled kernels whose results may be so large that in products of them all digits cancel."""
LOGARITHMS = ("log_softmax", "softmax_cross_entropy", "logaddexp", "logsumexp")
"""Ops whose results are logarithms of sums: near 0 they are as exact as a sum that is near 1."""


class Noise:
    """Moves leaves, and the results of ops, by a few units in the last place: another run has other noise."""

    def __init__(self, seed: int, *, whole_numbers: bool = True) -> None:
        """Draw from a seed; without `whole_numbers` those stay as they are: they may be places in an array."""
        self._generator = np.random.default_rng(seed)
        self._whole_numbers = whole_numbers

    def leaf(self, array: Array) -> Array:
        """Return the numbers of a leaf, moved."""
        return self._moved(array, array)

    def around(
        self, op: str, attrs: Mapping[str, Any], inputs: Sequence[Array], run: Callable[[], Sequence[Array]]
    ) -> list[Array]:
        """Run an op, which may write over its inputs, and return its results, moved by what its kernel may be off."""
        same_bits = op in SAME_BITS and not (op in ROUNDED_ONCE and inputs[0].dtype.itemsize == 2)
        if op not in DECOMPOSITIONS and (op not in LOWERINGS or same_bits):
            return list(run())
        with np.errstate(all="ignore"):
            terms = cancelled(op, inputs, attrs)
            first, *others = (
                self._moved(result, np.maximum(np.abs(result), 1) if op in LOGARITHMS else result) for result in run()
            )
            for term in terms:
                first = np.asarray(first + (self._amounts(term.size, first.dtype) * term.share).astype(first.dtype))
        return [first, *others]

    def _moved(self, array: Array, size: Array) -> Array:
        if not is_float(array.dtype):
            return array
        with np.errstate(all="ignore"):
            amounts = self._amounts(size, array.dtype).astype(array.dtype)
            moved = np.asarray(array + amounts, array.dtype)
            return moved if self._whole_numbers else np.where(array == np.rint(array), array, moved)

    def _amounts(self, size: Array, dtype: np.dtype[Any]) -> Array:
        """Return random parts of rounding errors of numbers of a size."""
        part = UNITS * epsilon(dtype) * (2 * self._generator.random(size.shape, np.float32) - 1)
        return np.asarray(size * part.astype(size.dtype))


Replay = Callable[[Noise], Results]


def epsilon(dtype: np.dtype[Any]) -> float:
    """Return the distance of 1 from the next number."""
    return {2: 2.0**-8 if dtype.kind == "V" else 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}[dtype.itemsize]


class Tolerance:
    """What results may be, given NumPy's and a way to run the program with other numbers."""

    def __init__(self, expected: Results, replay: Replay, common: float = 0.9) -> None:
        """Run nothing yet; every element may be as far off as the share `common` of the elements of its array."""
        self.expected = expected
        self._common = common
        self._replay = replay
        self._moved: list[Results] = []
        self._runs = 0

    def faults(self, found: Results) -> list[str]:
        """Return what is wrong with results, a sentence each."""
        for runs in RUNS:
            self._run(runs)
            faults = [text for name in self.expected if name in found for text in self._compared(name, found[name])]
            if not faults:
                return []
        return faults

    def _run(self, runs: int) -> None:
        while self._runs < runs:
            self._runs += 1
            for whole_numbers in (True, False):
                try:
                    self._moved.append(self._replay(Noise(self._runs, whole_numbers=whole_numbers)))
                    break
                except (EngineError, *REFUSALS):
                    continue  # an op that checks its numbers found one out of its range

    def _compared(self, name: str, found: Array) -> Iterator[str]:
        expected = self.expected[name]
        if (expected.shape, expected.dtype) != (found.shape, found.dtype):
            yield f"{name} is {found.dtype}{list(found.shape)}, not {expected.dtype}{list(expected.shape)}"
            return
        if not expected.size or expected.tobytes() == found.tobytes():
            return
        with np.errstate(all="ignore"):
            wide, other = expected.astype(np.float64), found.astype(np.float64)
            moved = [results[name].astype(np.float64) for results in self._moved]
            loose = np.zeros(wide.shape, bool)  # not finite in one of the runs, so that it may be anything
            spread = np.zeros(wide.shape)
            for each in moved:
                finite = np.isfinite(each) & np.isfinite(wide)
                loose |= ~finite & ~((each == wide) | (np.isnan(each) & np.isnan(wide)))
                spread = np.maximum(spread, np.where(finite, np.abs(each - wide), 0.0))
            unit = epsilon(expected.dtype) if is_float(expected.dtype) else 0.0
            common = np.quantile(spread, self._common) if is_float(expected.dtype) else 0.0
            allowed = FACTOR * (spread + common + UNITS * unit * np.abs(wide)) + tiny(expected.dtype)
            loose |= ~np.isfinite(other) & (allowed > largest(expected.dtype) / FACTOR)  # it may have overflowed
            if is_float(expected.dtype) and expected.dtype.itemsize == 2:
                # Where terms overflow to both infinities and give NaN, a kernel that rounds once may have one of them.
                loose |= ~np.isfinite(other) & ~np.isfinite(wide)
            same = (other == wide) | (np.isnan(other) & np.isnan(wide)) | loose
            distance = np.abs(other - wide)
            wrong = ~same & ~(distance <= allowed)
        if wrong.any():
            worst = int(np.argmax(np.where(wrong, np.nan_to_num(distance, nan=np.inf), -1.0)))
            yield (
                f"{name}: {int(wrong.sum())} of {wrong.size} elements are wrong; the worst, {worst}, is "
                f"{other.reshape(-1)[worst]!r}, not {wide.reshape(-1)[worst]!r} +- {allowed.reshape(-1)[worst]:.3g}"
            )


def tiny(dtype: np.dtype[Any]) -> float:
    """Return a number that is nothing beside others of a dtype: what is smaller may be flushed to 0."""
    if not is_float(dtype):
        return 0.0
    return {2: 2.0**-120 if dtype.kind == "V" else 2.0**-14, 4: 2.0**-120, 8: 2.0**-1000}[dtype.itemsize]


def largest(dtype: np.dtype[Any]) -> float:
    """Return the largest finite number of a dtype, of half types that of float16; infinity for whole numbers."""
    if not is_float(dtype):
        return np.inf
    return float(np.finfo(f"f{dtype.itemsize}").max)
