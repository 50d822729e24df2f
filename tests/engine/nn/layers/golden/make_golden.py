"""Write layers.npz: what PyTorch's modules give for each layer of the table, forward and backward, in both modes.

Run with a Python that has torch 2.13 and numpy:  python tests/engine/nn/layers/golden/make_golden.py
The tests read the file and need NumPy only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cases import CASES, FAMILIES, INTEGERS, OTHERS
from torch import nn

FILE = Path(__file__).parent / "layers.npz"


def named(module: nn.Module, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return a state without what stands for the wrapped module."""
    return {name.removeprefix("network."): tensor for name, tensor in state.items()}


def numbers(generator: np.random.Generator, other: Any) -> torch.Tensor:
    return draw(generator, other) if isinstance(other, tuple) else torch.tensor(other)


def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Draw numbers of few digits, which compress well; none is 0."""
    return torch.tensor(np.round(generator.standard_normal(shape) * 64) / 64 + 1 / 128)


def run(name: str, place: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Run one case in training and then in evaluation; returns its entry in the index."""
    kind, options, shape, module = CASES[name]
    generator = np.random.default_rng(len(arrays))
    module = module.double()
    for parameter in module.parameters():
        parameter.data = draw(generator, parameter.shape) / 2
    entry: dict[str, Any] = {"name": name, "kind": kind, "options": options, "state": {}, "others": []}

    def keep(key: str, tensor: torch.Tensor) -> None:
        arrays[f"{place}/{key}"] = tensor.detach().numpy().copy()

    whole = name in INTEGERS
    x = torch.tensor(INTEGERS[name]) if whole else draw(generator, shape).requires_grad_()
    others = {key: numbers(generator, other) for key, other in OTHERS[name].items()}
    keep("x", x)
    entry["others"] = list(others)
    for key, tensor in others.items():
        keep(f"other/{key}", tensor)
    before = named(module, module.state_dict())
    entry["state"] = {key: list(tensor.shape) for key, tensor in before.items()}
    for key, tensor in before.items():
        keep(f"state/{key}", tensor)
    trained = list(named(module, dict(module.named_parameters())).items())
    for mode in ("train", "eval"):
        module.train(mode == "train")
        y = module(x, **others)
        cotangent = draw(generator, y.shape)
        keep(f"{mode}/y", y)
        keep(f"{mode}/cotangent", cotangent)
        wanted = ([] if whole else [("x", x)]) + trained
        gradients = torch.autograd.grad(y, [tensor for _, tensor in wanted], cotangent)
        for key, gradient in zip([key for key, _ in wanted], gradients, strict=True):
            keep(f"{mode}/gradient/{key}", gradient)
        after = named(module, module.state_dict())
        for key in named(module, dict(module.named_buffers())):
            keep(f"{mode}/buffer/{key}", after[key])
    return entry


def main() -> None:
    torch.manual_seed(0)
    for family in FAMILIES:
        family()
    arrays: dict[str, np.ndarray] = {}
    entries = [run(name, f"{number}", arrays) for number, name in enumerate(CASES)]
    flat = np.concatenate([array.astype(float).reshape(-1) for array in arrays.values()])
    shapes_of = {key: [array.dtype.name, *array.shape] for key, array in arrays.items()}
    index = np.frombuffer(json.dumps([entries, shapes_of], separators=(",", ":")).encode(), np.uint8)
    np.savez_compressed(FILE, index=index, numbers=flat)


if __name__ == "__main__":
    main()
