"""Every op against PyTorch: the samples of its own generators, with the results and gradients that it gave for them.

make_golden.py wrote data/*.npz; nothing here needs PyTorch. What disagrees stands in skips.json, with the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import EngineError
from engine.core.modes import enable_grad
from engine.core.registry import lookup
from engine.core.value import Array, Value, tensor
from engine.ops.elementwise.elementwise import mul
from engine.ops.reduce.reduce import sum as total
from tests.engine.golden.canonical import canonical
from tests.engine.golden.samples import HERE, SECTIONS, SKIPS, Sample, Section, section, skip_of
from tests.support.near import assert_near

MOST_SKIPPED = 0.02
TOLERANCE = {"rtol": 1e-7, "atol": 1e-9}
IN_FLOAT32 = {"rtol": 1e-4, "atol": 1e-5}


def groups() -> Iterator[tuple[str, str]]:
    """Each op of PyTorch with the file that holds it."""
    for name in SECTIONS:
        yield from ((name, op) for op in dict.fromkeys(sample["torch"] for sample in section(name).samples))


GROUPS = list(groups())


def weights(shape: Sequence[int], phase: float, dtype: Any) -> Value:
    """The fixed weights of an output, or direction of a gradient."""
    size = math.prod(shape)
    return tensor(np.cos(np.arange(size, dtype=np.float64) + phase).astype(dtype).reshape(shape))


def inputs_of(data: Section, sample: Sample) -> list[Any]:
    """The inputs: leaves, numbers and nulls."""
    wrt = sample.get("wrt", [])
    return [
        tensor(data.array(given), requires_grad=place in wrt) if isinstance(given, list) else given
        for place, given in enumerate(sample["inputs"])
    ]


def apply(sample: Sample, inputs: list[Any]) -> list[Value]:
    """Call the op; its outputs as a list."""
    attrs = sample["attrs"]
    if sample["op"] == "getitem":
        created = inputs[0][tuple(part_of_index(code, inputs) for code in attrs["index"])]
    else:
        created = lookup(sample["op"])(*inputs, **attrs)
    outputs = list(created) if isinstance(created, tuple | list) else [created]
    after = sample.get("after")
    if after is None:
        return outputs
    with_gradients, values = canonical(after, outputs, lookup("transpose"))
    return [*with_gradients, *values]


def part_of_index(code: Any, inputs: list[Any]) -> Any:
    """One part of the brackets of a Value."""
    if isinstance(code, dict):
        return slice(*code["slice"]) if "slice" in code else inputs[code["input"]]
    return ... if code == "..." else code


def check(what: str, ours: Value | None, theirs: Array | None, shape: Sequence[int], *, narrow: bool) -> None:
    """Compare; a missing gradient is one of zeros. With `narrow`, PyTorch computed parts in float32."""
    got = np.zeros(shape) if ours is None else ours.numpy()
    want = np.zeros(shape) if theirs is None else theirs
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    tolerance = IN_FLOAT32 if narrow else TOLERANCE
    assert_near(got, want, what, **tolerance)


def check_sample(data: Section, sample: Sample) -> None:
    """Compare outputs, gradients and, where there are any, second-order gradients."""
    for what, ours, theirs, shape in results_of(data, sample):
        check(what, ours, theirs, shape, narrow=is_narrow(sample))


def results_of(data: Section, sample: Sample) -> Iterator[tuple[str, Value | None, Array | None, Sequence[int]]]:
    """Compute a sample: what each result is, ours and PyTorch's (None for a gradient that is missing), its shape."""
    inputs = inputs_of(data, sample)
    outputs = apply(sample, inputs)
    for number, place in enumerate(sample["outputs"]):
        want = data.array(place) if isinstance(place, list) else np.asarray(place)
        yield f"output {number}", outputs[number], want, want.shape
    if "gradients" not in sample:
        return
    leaves = [inputs[place] for place in sample["wrt"]]
    second = sample.get("second")
    roots = [outputs[k] for k in sample["through"]]
    with enable_grad():
        seeds = [weights(y.shape, k, y.dtype) for k, y in zip(sample["through"], roots, strict=True)]
        pulled = pull_back(roots, seeds, leaves)
    yield from gradients_of("gradient", data, pulled, sample["gradients"], leaves)
    if second is None:
        return
    used = [
        (g, 0.5 + i)
        for i, (g, place) in enumerate(zip(pulled, sample["gradients"], strict=True))
        if g is not None and place is not None and g.requires_grad
    ]
    with enable_grad():
        terms = [total(mul(g, weights(g.shape, phase, g.dtype))) for g, phase in used]
    ones = [tensor(np.ones((), term.dtype)) for term in terms]
    again = pull_back(terms, ones, leaves) if terms else [None] * len(leaves)
    yield from gradients_of("second-order gradient", data, again, second, leaves)


def gradients_of(
    what: str, data: Section, pulled: Sequence[Value | None], places: Sequence[Any], leaves: Sequence[Value]
) -> Iterator[tuple[str, Value | None, Array | None, Sequence[int]]]:
    for number, (ours, place, leaf) in enumerate(zip(pulled, places, leaves, strict=True)):
        yield f"{what} {number}", ours, None if place is None else data.array(place), leaf.shape


def is_narrow(sample: Sample) -> bool:
    """Return whether some input is in float32, as the weights of cov."""
    return any(isinstance(given, list) and given[0] == "float32" for given in sample["inputs"])


@pytest.mark.parametrize(("file", "op"), GROUPS, ids=[op for _, op in GROUPS])
def test_an_op_agrees_with_pytorch(file: str, op: str) -> None:
    data, wrong = section(file), []
    for sample in data.samples:
        if sample["torch"] != op or skip_of(sample) is not None:
            continue
        try:
            check_sample(data, sample)
        except (AssertionError, EngineError, TypeError, ValueError, IndexError) as error:
            shapes = [given[2] if isinstance(given, list) else given for given in sample["inputs"]]
            text = f"{type(error).__name__}: {error}"
            wrong.append(f"sample {sample['sample']}: {sample['op']}({shapes}, {sample['attrs']})\n{text}")
    assert not wrong, f"{len(wrong)} samples disagree\n" + "\n\n".join(wrong)


def test_every_skip_has_a_reason_and_holds_back_nothing_that_agrees() -> None:
    held_back: dict[str, list[bool]] = {json.dumps(skip): [] for skip in SKIPS}
    for data in map(section, SECTIONS):
        for sample in data.samples:
            skip = skip_of(sample)
            if skip is not None:
                held_back[json.dumps(skip)].append(disagrees(data, sample))
    assert all(skip["reason"] for skip in SKIPS)
    assert not [skip for skip, found in held_back.items() if not found or not all(found)]


def disagrees(data: Section, sample: Sample) -> bool:
    try:
        check_sample(data, sample)
    except (AssertionError, EngineError, TypeError, ValueError, IndexError):
        return True
    return False


def test_few_samples_are_skipped_or_left_out() -> None:
    samples = [sample for data in map(section, SECTIONS) for sample in data.samples]
    skipped = sum(skip_of(sample) is not None for sample in samples)
    reasons = json.loads((HERE / "data" / "left_out.json").read_text())
    left_out = sum(count for counts in reasons.values() for count in counts.values())
    whole = len(samples) + left_out
    assert skipped + left_out <= MOST_SKIPPED * whole, f"{skipped} skipped and {left_out} left out of {whole}"
