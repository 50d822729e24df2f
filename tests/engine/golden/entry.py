"""How one OpInfo of PyTorch becomes one op of ours: the form of an entry of the mapping table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from call import Call, NotOffered, plain

RENAMED = {
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "kernel_size": "kernel",
    "negative_slope": "slope",
    "min_val": "min",
    "max_val": "max",
    "n": "exponent",
    "ord": "order",
    "dim0": "axis0",
    "dim1": "axis1",
    "start_dim": "start",
    "end_dim": "end",
    "is_causal": "causal",
    "dropout_p": "dropout",
    "upscale_factor": "factor",
    "downscale_factor": "factor",
    "num_groups": "groups",
    "scale_factor": "scale",
    "divisor_override": "divisor",
    "num_classes": "classes",
}
MEANINGLESS = {
    "inplace": False,
    "stable": None,
    "out_int32": None,
    "device": "cpu",
    "driver": None,
    "compute_mode": None,
    "memory_format": None,
}
"""Arguments that do not change the result, at these values (None: at any)."""


@dataclass(frozen=True)
class Entry:
    """How to turn a sample of one OpInfo into a call of ours."""

    op: str
    order: tuple[str, ...]
    adapt: Callable[[Call], None] | None = None
    outputs: tuple[int, ...] | None = None
    """Which of PyTorch's outputs are compared, with our first ones."""
    after: str | None = None
    """A form of `canonical` that outputs are brought to on both sides, where signs and bases are a matter of taste."""
    symmetric: bool = False
    """PyTorch gets the symmetric part of its first argument, which is what counts for ours."""
    values_only: bool = False
    """Gradients are not compared: they are defined differently."""
    most_elements: int = 24000
    """Samples with larger tensors are left out."""

    def call(self, values: list[Any], named: dict[str, Any]) -> Call:
        """Translate the positional and keyword arguments of a sample."""
        names = [name.rstrip("=") for name in self.order]
        if names and names[-1].endswith("*"):
            rest = values[len(names) - 1 :]
            spread = len(rest) == 1 and isinstance(rest[0], list | tuple)
            values = [*values[: len(names) - 1], list(rest[0]) if spread else rest]
            names[-1] = names[-1].rstrip("*")
        if len(values) > len(names):
            raise NotOffered(f"more than {len(names)} positional arguments")
        given = dict(zip(names, values, strict=False)) | named
        inputs = {name.rstrip("*"): given.pop(name.rstrip("*"), None) for name in self.order if not name.endswith("=")}
        attrs = {}
        for name, value in given.items():
            if name in MEANINGLESS and MEANINGLESS[name] in (None, value):
                continue
            if name == "dtype" and str(value) in ("torch.float64", "None"):
                continue
            attrs[RENAMED.get(name, name)] = value if name == "index" else plain(value)
        call = Call(self.op, inputs, attrs)
        if self.adapt is not None:
            self.adapt(call)
        return call


def to(op: str, order: str = "x", adapt: Callable[[Call], None] | None = None, **more: Any) -> Entry:
    """Describe an entry; `order` holds the arguments apart by spaces."""
    return Entry(op, tuple(order.split()), adapt, **more)


def same(names: str, order: str, prefix: str = "", **more: Any) -> dict[str, Entry]:
    """Entries of several ops with equal names on both sides and equal arguments."""
    return {prefix + name: to(name, order, **more) for name in names.split()}
