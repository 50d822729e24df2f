"""Ops on integers and truth values: the element types and numbers of PyTorch, also beside floats.

make_integers.py wrote data/integers.npz. What differs stands in integer_differences.json, by op and kind ("type",
"number" or "refused"), with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np

from engine.core.errors import EngineError
from tests.engine.golden.samples import HERE, INTEGERS, Sample, Section
from tests.engine.golden.test_golden import apply, inputs_of
from tests.support.rows import each_row

DIFFERENCES: list[dict[str, Any]] = json.loads((HERE / "integer_differences.json").read_text())
RELATIVE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


@cache
def samples() -> tuple[Section, dict[str, list[Sample]]]:
    data, by_op = Section(INTEGERS), {}
    for sample in data.samples:
        by_op.setdefault(sample["torch"], []).append(sample)
    return data, by_op


def faults(data: Section, sample: Sample) -> Iterator[tuple[str, str]]:
    """What differs from PyTorch: its kind, and a text."""
    try:
        outputs = apply(sample, inputs_of(data, sample))
    except EngineError as error:
        yield "refused", str(error)
        return
    for ours, place in zip(outputs, sample["outputs"], strict=False):
        want = data.array(place) if isinstance(place, list) else np.asarray(place)
        got = ours.numpy()
        if got.dtype != want.dtype:
            yield "type", f"{got.dtype} in the place of {want.dtype}"
        elif got.shape != want.shape or not np.allclose(
            got, want, rtol=RELATIVE.get(want.dtype.name, 0), atol=1e-6 if want.dtype.kind == "f" else 0, equal_nan=True
        ):
            yield "number", f"{got.tolist()} in the place of {want.tolist()}"


@cache
def found(op: str) -> tuple[tuple[str, str], ...]:
    """What differs in the samples of an op."""
    data, by_op = samples()
    texts = []
    with np.errstate(all="ignore"):
        for sample in by_op[op]:
            shown = [f"{given[0]}{given[2]}" if isinstance(given, list) else given for given in sample["inputs"]]
            texts += [(kind, f"{sample['op']}{shown} {sample['attrs']}: {text}") for kind, text in faults(data, sample)]
    return tuple(texts)


def excused(op: str, kind: str) -> dict[str, Any] | None:
    return next((entry for entry in DIFFERENCES if fnmatchcase(op, entry["torch"]) and kind == entry["kind"]), None)


@each_row("op", list(samples()[1]))
def test_an_op_on_integers_is_pytorchs(op: str) -> None:
    wrong = [text for kind, text in found(op) if excused(op, kind) is None]
    assert not wrong, "\n".join(wrong)


def test_every_difference_on_integers_has_a_reason_and_is_one() -> None:
    listed = [op for op in samples()[1] if any(fnmatchcase(op, entry["torch"]) for entry in DIFFERENCES)]
    used = [excused(op, kind) for op in listed for kind, _ in found(op)]
    assert all(entry["reason"] for entry in DIFFERENCES)
    assert [entry for entry in DIFFERENCES if entry not in used] == []
