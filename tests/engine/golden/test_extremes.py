"""Ops and their rules at extreme finite numbers: subnormal, tiny, huge, both zeros; to second order as PyTorch's.

make_extremes.py wrote data/extremes.npz. Where PyTorch gives NaN anything is taken; where it gives a number or an
infinity ours must be the same. What disagrees stands in extreme_differences.json, by op, result and kind, with the
reason; NaN is never excused without an entry. What depends on how a CPU rounds products is marked `some_cpus`.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np

from engine.core.value import Array
from tests.engine.golden.samples import EXTREMES, HERE, Sample, Section
from tests.engine.golden.test_golden import results_of
from tests.support.rows import each_row

DIFFERENCES: list[dict[str, Any]] = json.loads((HERE / "extreme_differences.json").read_text())
RELATIVE = {"float64": 1e-6, "float32": 2e-4, "float16": 2e-3}
OF_LARGEST = 1e-9
"""Beside the relative tolerance, one of the largest finite number of a result whose elements are sums."""


@cache
def samples() -> tuple[Section, dict[str, list[Sample]]]:
    data, by_op = Section(EXTREMES), {}
    for sample in data.samples:
        by_op.setdefault(sample["torch"], []).append(sample)
    return data, by_op


def kind_of(number: Any) -> str:
    return "nan" if np.isnan(number) else "inf" if np.isinf(number) else "finite"


def disagreements(data: Section, sample: Sample) -> dict[tuple[str, str, str], str]:
    """By result ("output", "gradient", "second-order"), kind of ours and of PyTorch's: the first number at fault."""
    found: dict[tuple[str, str, str], str] = {}
    for what, ours, theirs, shape in results_of(data, sample):
        got = np.zeros(shape) if ours is None else ours.numpy()
        want = np.zeros(shape, got.dtype) if theirs is None else theirs
        assert got.shape == want.shape, what
        if ours is not None and theirs is not None:
            assert got.dtype == want.dtype, what
        wrong = np.flatnonzero(~agree(got, want, elementwise=len(shape) == 1 and len(set(shape)) == 1))
        for place in wrong:
            pair = got.flat[place], want.flat[place]
            key = (what.split()[0], kind_of(pair[0]), kind_of(pair[1]))
            found.setdefault(key, f"{what}[{place}] is {pair[0]}, not {pair[1]}: {sample['attrs']}, {got.dtype}")
    return found


def agree(got: Array, want: Array, *, elementwise: bool) -> Array:
    """By element, whether ours is PyTorch's, or PyTorch's is NaN."""
    if want.dtype.kind != "f":
        return np.asarray(got == want)
    limits = np.finfo(want.dtype)
    largest = np.abs(want[np.isfinite(want)]).max(initial=0)
    absolute = 4 * limits.tiny if elementwise else 4 * limits.smallest_subnormal + OF_LARGEST * largest
    with np.errstate(all="ignore"):
        close = np.abs(got - want) <= RELATIVE[want.dtype.name] * np.abs(want) + absolute
    return np.asarray((got == want) | close | np.isnan(want))


def excused(op: str, key: tuple[str, str, str]) -> dict[str, Any] | None:
    """The entry of extreme_differences.json that a disagreement falls under."""
    result, ours, theirs = key
    for entry in DIFFERENCES:
        kinds = [kind.split(" for ") for kind in entry["kinds"]]
        if fnmatchcase(op, entry["torch"]) and result in entry["results"] and [ours, theirs] in kinds:
            return entry
    return None


@cache
def found(op: str) -> tuple[tuple[tuple[str, str, str], str], ...]:
    """What disagrees in the samples of an op."""
    data, by_op = samples()
    with np.errstate(all="ignore"):
        return tuple(
            (key, f"{sample['op']}: {text}")
            for sample in by_op[op]
            for key, text in disagreements(data, sample).items()
        )


@each_row("op", list(samples()[1]))
def test_an_op_is_pytorchs_at_extreme_numbers(op: str) -> None:
    wrong = [text for key, text in found(op) if excused(op, key) is None]
    assert not wrong, "\n".join(wrong)


def test_every_difference_has_a_reason_and_is_one() -> None:
    listed = [op for op in samples()[1] if any(fnmatchcase(op, entry["torch"]) for entry in DIFFERENCES)]
    used = [excused(op, key) for op in listed for key, _ in found(op)]
    assert all(entry["reason"] for entry in DIFFERENCES)
    assert [entry for entry in DIFFERENCES if entry not in used and not entry.get("some_cpus")] == []
