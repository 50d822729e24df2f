"""Write data/*.npz: samples of PyTorch's own generators with the results and gradients that PyTorch gives.

Run with a Python that has torch 2.13, numpy and expecttest:  python tests/engine/golden/make_golden.py [section...]
The tests read the files and need none of those but NumPy. What `mapping` has no entry for is not looked at; what it has
an entry for but is not in the files stands in data/left_out.json, by reason.
"""

from __future__ import annotations

import argparse
import json
import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from call import Call, NotOffered
from canonical import canonical
from entry import Entry
from mapping import SECTIONS
from torch.testing._internal.common_methods_invocations import op_db

DATA = Path(__file__).parent / "data"


class Store:
    """Arrays laid end to end, one stream for each dtype, equal ones once."""

    def __init__(self) -> None:
        self.streams: dict[str, list[np.ndarray]] = {}
        self.sizes: Counter[str] = Counter()
        self.places: dict[tuple[str, bytes], int] = {}

    def add(self, tensor: torch.Tensor | None) -> list[Any] | None:
        """Return where the array is: [dtype, offset, shape]."""
        if tensor is None:
            return None
        array = np.ascontiguousarray(tensor.detach().numpy(force=True))
        dtype, key = array.dtype.name, (array.dtype.name, array.tobytes())
        if key not in self.places:
            self.places[key] = self.sizes[dtype]
            self.sizes[dtype] += array.size
            self.streams.setdefault(dtype, []).append(array.reshape(-1))
        return [dtype, self.places[key], list(tensor.shape)]

    def write(self, path: Path, samples: list[dict[str, Any]]) -> None:
        """Write the streams and the samples that refer to them.

        The bytes of floats lie in planes, the first of all, the second of all, ...: signs and exponents compress so.
        """
        streams = {name: np.concatenate(parts) for name, parts in self.streams.items()}
        planes = streams.pop("float64", np.empty(0)).view(np.uint8).reshape(-1, 8).T
        index = np.frombuffer(json.dumps(samples, separators=(",", ":")).encode(), np.uint8)
        np.savez_compressed(path, index=index, float64_planes=np.ascontiguousarray(planes), **streams)


def leaves_of(value: Any) -> Any:
    """Copy a nest of arguments, each tensor as a leaf of its own."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple):
        return type(value)(leaves_of(item) for item in value)
    return {key: leaves_of(item) for key, item in value.items()} if isinstance(value, dict) else value


def tensors_of(value: Any) -> list[torch.Tensor]:
    """All tensors in a nest."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in tensors_of(item)] if isinstance(value, list | tuple) else []


def elements(value: Any) -> int:
    """How many elements the tensors in a nest have together."""
    return sum(tensor.numel() for tensor in tensors_of(value))


def weights(shape: Any, phase: float) -> torch.Tensor:
    """The fixed weights of an output (or direction of a gradient): cosines."""
    size = int(np.prod(shape, dtype=np.int64))
    return torch.from_numpy(np.cos(np.arange(size, dtype=np.float64) + phase).reshape(tuple(shape)))


def parts_of(y: Any) -> list[Any]:
    """The real and the imaginary part of what is complex; anything else as it is."""
    return [y.real, y.imag] if isinstance(y, torch.Tensor) and y.is_complex() else [y]


def run(info: Any, entry: Entry, sample: Any) -> tuple[Call, list[torch.Tensor], list[int]]:
    """Call PyTorch on fresh leaves; returns the call in our terms, the outputs and which of them have a gradient."""
    first, args, named = leaves_of(sample.input), leaves_of(tuple(sample.args)), leaves_of(dict(sample.kwargs))
    call = entry.call([first, *args], dict(named))
    result = info.op((first + first.mT) / 2 if entry.symmetric else first, *args, **named)
    outputs = [result] if isinstance(result, torch.Tensor | bool) else list(result)
    outputs = [part for y in outputs for part in parts_of(y)]
    if entry.outputs is not None:
        outputs = [outputs[index] for index in entry.outputs]
    if entry.after is not None:
        with_gradients, values = canonical(entry.after, outputs, lambda x: x.mT)
        outputs = [*with_gradients, *(value.detach() for value in values)]
    return call, outputs, [k for k, y in enumerate(outputs) if isinstance(y, torch.Tensor) and y.requires_grad]


def gradients_of(
    outputs: list[torch.Tensor], through: list[int], leaves: list[torch.Tensor], again: bool
) -> tuple[Any, Any]:
    """First-order gradients of the weighted sum of outputs and, if asked for, second-order ones along a direction."""
    loss = sum((outputs[k] * weights(outputs[k].shape, k).to(outputs[k].dtype)).sum() for k in through)
    first = torch.autograd.grad(loss, leaves, create_graph=again, allow_unused=True)
    if not again:
        return first, None
    terms = [
        (g * weights(g.shape, 0.5 + i).to(g.dtype)).sum()
        for i, g in enumerate(first)
        if g is not None and g.requires_grad
    ]
    if not terms:
        return first, [None] * len(leaves)
    return first, torch.autograd.grad(sum(terms), leaves, allow_unused=True)


def record(info: Any, entry: Entry, number: int, sample: Any, again: bool) -> dict[str, Any]:
    """Run one sample; the tensors in the answer are still to be stored."""
    call, outputs, through = run(info, entry, sample)
    created: dict[str, Any] = {"sample": number, "op": call.op, "attrs": call.attrs}
    if entry.after is not None:
        created["after"] = entry.after
    created["inputs"] = list(call.inputs.values())
    while created["inputs"] and created["inputs"][-1] is None:
        created["inputs"].pop()
    created["outputs"] = outputs
    wrt = [k for k, v in enumerate(created["inputs"]) if isinstance(v, torch.Tensor) and v.requires_grad]
    if through and wrt:
        first, second = gradients_of(outputs, through, [created["inputs"][k] for k in wrt], again)
        created |= {"through": through, "wrt": wrt, "gradients": list(first)}
        if second is not None:
            created["second"] = list(second)
    return created


def stored(store: Store, created: dict[str, Any]) -> dict[str, Any]:
    """Put the tensors of a record into the store."""
    for name in ("inputs", "outputs", "gradients", "second"):
        if name in created:
            created[name] = [store.add(v) if isinstance(v, torch.Tensor) or v is None else v for v in created[name]]
    return created


def candidates_of(info: Any, entry: Entry, left_out: Counter[str]) -> list[tuple[int, Any]]:
    """The samples of an OpInfo that our op can express."""
    dtype = torch.float64 if torch.float64 in info.dtypes else torch.int64
    differentiable = info.supports_autograd and dtype == torch.float64 and not entry.values_only
    found = []
    for number, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=differentiable)):
        tensors = tensors_of([sample.input, sample.args, sample.kwargs])
        if any(t.numel() > entry.most_elements for t in tensors):
            left_out[f"a tensor of more than {entry.most_elements} elements"] += 1
        elif any(t.is_complex() or t.dtype in (torch.float16, torch.bfloat16) for t in tensors):
            left_out["not in float64"] += 1
        else:
            try:
                entry.call([sample.input, *sample.args], dict(sample.kwargs))
                found.append((number, sample))
            except NotOffered as reason:
                left_out[f"not offered: {reason}"] += 1
    return found


def is_distinctive(created: dict[str, Any]) -> bool:
    """Return whether second-order gradients are finite and not all zero."""
    given = [g for g in created["second"] if g is not None]
    return any(bool((g != 0).any()) for g in given) and all(bool(g.isfinite().all()) for g in given)


def samples_of(info: Any, entry: Entry, left_out: Counter[str]) -> list[dict[str, Any]]:
    """The records of one OpInfo: second-order gradients stay with one, a small one where they are not all zero."""
    records = []
    for number, sample in candidates_of(info, entry, left_out):
        for again in (True, False):
            try:
                records.append(record(info, entry, number, sample, again))
                break
            except (RuntimeError, ValueError, NotImplementedError) as error:
                if not again:
                    left_out[f"PyTorch refuses: {str(error).splitlines()[0][:80]}"] += 1
    good = sorted((r for r in records if "second" in r), key=lambda r: (not is_distinctive(r), elements(r["inputs"])))
    for created in good[1:]:
        del created["second"]
    return records


def main() -> None:
    """Write the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS])
    wanted = parser.parse_args().sections or list(SECTIONS)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # runs differ in the last bits of BLAS alone, by where arrays lie
    infos = {info.name + ("|" + info.variant_test_name if info.variant_test_name else ""): info for info in op_db}
    path = DATA / "left_out.json"
    left_out = json.loads(path.read_text()) if path.exists() else {}
    for section in wanted:
        store, samples = Store(), []
        for name, entry in SECTIONS[section].items():
            torch.manual_seed(0)
            np.random.seed(0)  # some generators draw from it
            random.seed(0)
            counts: Counter[str] = Counter()
            samples += [{"torch": name, **stored(store, created)} for created in samples_of(infos[name], entry, counts)]
            left_out.pop(name, None)
            if counts:
                left_out[name] = dict(counts)
        store.write(DATA / f"{section}.npz", samples)
    path.write_text(json.dumps(left_out, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
