"""Write data/integers.npz: ops on integers and truth values, with the element types and numbers that PyTorch gives.

Run with a Python that has torch 2.13, numpy and expecttest:  python tests/engine/golden/make_integers.py
Every op of the mapping table is asked at small samples of its own in each type of `TYPES` that PyTorch takes, and
elementwise ops of two inputs also with the second one in another type. test_integers.py reads the file.
"""

from __future__ import annotations

import copy
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from call import NotOffered
from entry import Entry
from make_golden import DATA, Store, elements, leaves_of, stored, tensors_of
from mapping import ELEMENTWISE, SECTIONS
from torch.testing._internal.common_methods_invocations import op_db

TYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
OTHERS = (torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64)
"""Types of a second input."""
MOST_ELEMENTS, MOST_SAMPLES = 40, 3
CREATING = {"arange", "linspace", "eye", "full", "zeros", "ones", "fill"}


def run(info: Any, entry: Entry, sample: Any) -> dict[str, Any] | None:
    """Call PyTorch; the record, whose tensors are still to be stored, or None if either side has no such call."""
    first, args, named = leaves_of(sample.input), leaves_of(tuple(sample.args)), leaves_of(dict(sample.kwargs))
    try:
        call = entry.call([first, *args], dict(named))
        created = info.op(first, *args, **named)
    except (NotOffered, RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
        return None
    outputs = [created] if isinstance(created, torch.Tensor | bool | int) else list(created)
    if entry.outputs is not None:
        outputs = [outputs[index] for index in entry.outputs]
    inputs = list(call.inputs.values())
    while inputs and inputs[-1] is None:
        inputs.pop()
    return {"op": call.op, "attrs": call.attrs, "inputs": inputs, "outputs": outputs}


def samples_of(info: Any, name: str, dtype: torch.dtype) -> Iterator[Any]:
    """Small samples, one for each set of arguments; of elementwise ops with the second input in each other type too."""
    seen: Counter[Any] = Counter()
    for sample in info.sample_inputs("cpu", dtype):
        tensors = tensors_of([sample.input, sample.args, sample.kwargs])
        kind = (tuple(sorted(sample.kwargs)), str([type(item) for item in sample.args]), tensors[0].ndim == 0)
        if "dtype" in sample.kwargs:  # the mapping leaves types out
            continue
        if elements(tensors) > MOST_ELEMENTS or not elements(tensors) or seen[kind] or len(seen) >= MOST_SAMPLES:
            continue
        seen[kind] += 1
        yield sample
        if name in ELEMENTWISE and len(sample.args) == 1 and isinstance(sample.args[0], torch.Tensor):
            for other in OTHERS:
                if other != dtype:
                    changed = copy.copy(sample)
                    changed.args = (sample.args[0].to(other),)
                    yield changed


def main() -> None:
    """Write the file."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    infos = {info.name + ("|" + info.variant_test_name if info.variant_test_name else ""): info for info in op_db}
    store, samples = Store(), []
    entries = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
    for name, entry in entries.items():
        for dtype in TYPES:
            if name in CREATING or entry.after is not None or dtype not in infos[name].dtypes:
                continue
            torch.manual_seed(0)
            np.random.seed(0)
            random.seed(0)
            for sample in samples_of(infos[name], name, dtype):
                created = run(infos[name], entry, sample)
                if created is not None:
                    samples.append({"torch": name, **stored(store, created)})
    store.write(DATA / "integers.npz", samples)


if __name__ == "__main__":
    main()
