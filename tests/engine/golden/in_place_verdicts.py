"""Judge random in-place programs by PyTorch: write data/in_place.json.gz, or compare the engine on many programs.

    python tests/engine/golden/in_place_verdicts.py write [--count 300] [--seed 0]
    python tests/engine/golden/in_place_verdicts.py compare [--count 5000] [--seed 1000]

`write` needs torch 2.13 and NumPy; `compare` needs the repository root on PYTHONPATH too. Each program runs on
PyTorch, and on a model of the semantics that has no in-place operations: each write makes a new tensor, and views are
gathers from the present one. Where PyTorch accepts a program both must give the same gradients, else this script fails;
where it refuses one, the model computes which gradients would be right.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from in_place_programs import Program, generate_program, run_program, view_array, weights

DATA = Path(__file__).parent / "data" / "in_place.json.gz"
TOLERANCE = {"rtol": 1e-7, "atol": 1e-9}


class LayoutDiffers(Exception):
    """PyTorch lays a result out in another order than NumPy, so that later views of it need not share memory."""


class TorchMachine:
    """Runs a program on PyTorch as it is."""

    def __init__(self) -> None:
        self.leaves: list[torch.Tensor] = []

    def leaf(self, data: np.ndarray, tracked: bool) -> torch.Tensor:
        created = torch.tensor(data, requires_grad=tracked)
        if tracked:
            self.leaves.append(created)
        return created

    def apply(self, name: str, value: torch.Tensor, *operands: Any) -> torch.Tensor:
        created = apply_torch(name, value, *operands)
        if not created.is_contiguous():
            raise LayoutDiffers
        return created

    def view(self, name: str, value: torch.Tensor, *options: Any) -> torch.Tensor:
        return view_torch(name, value, *options)

    def write(self, name: str, value: torch.Tensor, *operands: Any) -> None:
        if name == "clamp_":
            value.clamp_(*operands[0])
        else:
            getattr(value, name)(*operands)

    def assign(self, value: torch.Tensor, index: Any, source: Any) -> None:
        value[torch_index(index)] = source

    def unrecorded(self) -> Any:
        return torch.no_grad()

    def backward(self, outputs: Sequence[torch.Tensor], twice: bool) -> None:
        differentiate(outputs, self.leaves, twice)


def apply_torch(name: str, value: torch.Tensor, *operands: Any) -> torch.Tensor:
    """Run an operation that makes a new tensor."""
    if name in ("softmax", "cumsum", "sum", "mean", "flip"):
        return getattr(torch, name)(value, operands[0] if name == "flip" else operands[0][0])
    if name == "clamp":
        return torch.clamp(value, *operands[0])
    if name == "clone":
        return value.clone(memory_format=torch.contiguous_format)
    return getattr(torch, name)(value, *operands)


def view_torch(name: str, value: torch.Tensor, *options: Any) -> torch.Tensor:
    """Return the view that an instruction describes."""
    if name == "slice":
        axis, *bounds = options
        return value[(slice(None),) * axis + (slice(*bounds),)]
    if name == "select":
        return value.select(*options)
    return getattr(value, name)(*options)


def torch_index(index: Any) -> Any:
    """Turn arrays in an index into tensors."""
    if isinstance(index, tuple):
        return tuple(torch_index(entry) for entry in index)
    return torch.from_numpy(index) if isinstance(index, np.ndarray) else index


def differentiate(outputs: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor], twice: bool) -> None:
    """Add up the gradient of the weighted sum of `outputs`; `twice`: also that of the squares of this gradient."""
    total = sum((output * torch.tensor(weights(output.shape))).sum() for output in outputs)
    if not twice:
        total.backward(retain_graph=True)
        return
    slopes = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    (total + sum((slope * slope).sum() for slope in slopes if slope is not None)).backward(retain_graph=True)


class Group:
    """A tensor and its differentiable views: one history over a memory that other groups may share."""

    def __init__(self, memory: list[Group], content: torch.Tensor) -> None:
        self.memory = memory
        self.content = content
        memory.append(self)


class Handle:
    """A value of the model: the places in the memory that it shows."""

    def __init__(self, group: Group, places: np.ndarray) -> None:
        self.group = group
        self.places = places

    def read(self) -> torch.Tensor:
        return self.group.content[torch.from_numpy(self.places.copy())]


class ModelMachine:
    """Runs a program without any in-place operation."""

    def __init__(self) -> None:
        self.leaves: list[torch.Tensor] = []
        self.recording = True

    def leaf(self, data: np.ndarray, tracked: bool) -> Handle:
        created = torch.tensor(data, requires_grad=tracked)
        if tracked:
            self.leaves.append(created)
        return self._own(created)

    def _own(self, created: torch.Tensor) -> Handle:
        return Handle(Group([], created.reshape(-1)), np.arange(created.numel()).reshape(created.shape))

    def apply(self, name: str, value: Handle, *operands: Any) -> Handle:
        return self._own(apply_torch(name, value.read(), *map(read, operands)))

    def view(self, name: str, value: Handle, *options: Any) -> Handle:
        places = view_array(name, value.places, *options)
        if name == "detach" or not self.recording:
            return Handle(Group(value.group.memory, value.group.content.detach()), places)
        shared = name != "reshape" or not options or np.may_share_memory(places, value.places) or not places.size
        if not shared:
            return self._own(Handle(value.group, places).read())
        return Handle(value.group, places)

    def write(self, name: str, value: Handle, *operands: Any) -> None:
        if name in ("fill_", "copy_"):
            created = torch.as_tensor(read(operands[0]), dtype=torch.float64)
        else:
            created = apply_torch(name[:-1], value.read(), *map(read, operands))
        self._store(value.group, value.places, created)

    def assign(self, value: Handle, index: Any, source: Any) -> None:
        self._store(value.group, value.places[index], torch.as_tensor(read(source), dtype=torch.float64))

    def _store(self, group: Group, places: np.ndarray, created: torch.Tensor) -> None:
        places = np.asarray(places)
        flat = created.expand(places.shape).reshape(-1)
        written = group.content.index_put((torch.from_numpy(places.reshape(-1)),), flat)
        if self.recording:
            group.content = written
        for other in group.memory:  # their numbers change, their histories do not
            if other is not group or not self.recording:
                with torch.enable_grad():
                    other.content = other.content + (written - other.content).detach()

    @contextmanager
    def unrecorded(self) -> Any:
        self.recording = False
        with torch.no_grad():
            yield
        self.recording = True

    def backward(self, outputs: Sequence[Handle], twice: bool) -> None:
        differentiate([output.read() for output in outputs], self.leaves, twice)


def read(operand: Any) -> Any:
    """Return the tensor of a handle; anything else as it is."""
    return operand.read() if isinstance(operand, Handle) else operand


def judge(program: Program) -> dict[str, Any] | None:
    """Return PyTorch's verdict and the right gradients; None for a program that says nothing.

    Raises:
        AssertionError: PyTorch accepts the program, and the model's gradients differ from its own.
    """
    machine, model = TorchMachine(), ModelMachine()
    try:
        run_program(program, model, [])
    except RuntimeError:
        return None  # nothing to differentiate
    right = [None if leaf.grad is None else leaf.grad.numpy() for leaf in model.leaves]
    refusal = None
    try:
        run_program(program, machine, [])
    except LayoutDiffers:
        return None
    except RuntimeError as error:
        refusal = str(error)
    if any(gradient is not None and not (np.abs(gradient) < 1e6).all() for gradient in right):
        return None
    if refusal is None:
        for leaf, gradient in zip(machine.leaves, right, strict=True):
            assert (leaf.grad is None) == (gradient is None), (program, leaf.grad, gradient)
            if gradient is not None:
                np.testing.assert_allclose(leaf.grad.numpy(), gradient, **TOLERANCE, err_msg=str(program))
    return {"program": program, "refusal": refusal, "gradients": right}


def judged(count: int, seed: int) -> Any:
    """Yield `count` judged programs, the seeds counting up from `seed`."""
    while count:
        found = judge(generate_program(seed))
        if found is not None:
            yield seed, found
            count -= 1
        seed += 1


def write(count: int, seed: int) -> None:
    """Write the golden file."""
    rows = []
    for _, found in judged(count, seed):
        gradients = [None if g is None else [float(f"{x:.10g}") for x in g.reshape(-1)] for g in found["gradients"]]
        rows.append([found["program"], found["refusal"] is None, gradients])
    text = "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n"
    DATA.write_bytes(gzip.compress(text.encode(), mtime=0))
    report(f"{count} programs, {sum(row[1] for row in rows)} accepted by PyTorch, {DATA.stat().st_size} bytes")


def compare(count: int, seed: int) -> int:
    """Run the engine on programs and print what disagrees; the exit status."""
    from tests.engine.golden.in_place_engine import judge_engine

    counts: Counter[str] = Counter()
    last = seed
    for last, found in judged(count, seed):
        outcome = judge_engine(found["program"], found["refusal"] is None, found["gradients"])
        counts[outcome.split(":")[0]] += 1
        if outcome.startswith("wrong"):
            verdict = found["refusal"] or "accepts"
            report(f"seed {last}: {outcome}\n  PyTorch: {verdict}\n  {json.dumps(found['program'])}")
    report(f"seeds {seed}..{last}: {dict(counts)}")
    return int(any(name.startswith("wrong") for name in counts))


def report(line: str) -> None:
    """Write a line to the standard output."""
    sys.stdout.write(line + "\n")


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.action == "compare":
        return compare(options.count, options.seed)
    write(options.count, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
