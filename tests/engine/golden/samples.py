"""The samples that make_golden.py and its like wrote, with PyTorch's results: files, skips, and what they compare."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from engine.core.registry import lookup
from engine.core.value import Array

HERE = Path(__file__).parent
EXTREMES, INTEGERS = "extremes", "integers"
"""Files with tests of their own."""
SECTIONS = sorted({path.stem for path in (HERE / "data").glob("*.npz")} - {EXTREMES, INTEGERS})
SKIPS: list[dict[str, Any]] = json.loads((HERE / "skips.json").read_text())

Sample = dict[str, Any]
Order = Literal["gradients", "second"]


class Section:
    """One data file: its samples, and the arrays they refer to."""

    def __init__(self, name: str) -> None:
        self.path = HERE / "data" / f"{name}.npz"
        with np.load(self.path, allow_pickle=False) as file:
            self.samples: list[Sample] = json.loads(file["index"].tobytes())

    @cached_property
    def streams(self) -> dict[str, Array]:
        """The numbers of all arrays by dtype."""
        with np.load(self.path, allow_pickle=False) as file:
            streams = {stream: file[stream] for stream in file.files if stream != "index"}
        planes = streams.pop("float64_planes")
        return {**streams, "float64": np.ascontiguousarray(planes.T).view(np.float64).reshape(-1)}

    def array(self, place: tuple[str, int, list[int]]) -> Array:
        """The array at [dtype, offset, shape]."""
        dtype, offset, shape = place
        size = math.prod(shape)
        return self.streams[dtype][offset : offset + size].reshape(shape).copy()


@cache
def section(name: str) -> Section:
    return Section(name)


def skip_of(sample: Sample) -> dict[str, Any] | None:
    """The entry of skips.json that a sample falls under: by PyTorch's name, and by number or attributes if given."""
    for skip in SKIPS:
        numbers, attrs = skip.get("samples"), skip.get("attrs", {})
        if (
            fnmatchcase(sample["torch"], skip["torch"])
            and (numbers is None or sample["sample"] in numbers)
            and all(sample["attrs"].get(name) == value for name, value in attrs.items())
        ):
            return skip
    return None


def are_compared(op: str, attrs: Mapping[str, Any], order: Order) -> bool:
    """Return whether gradients of an op with such attributes are compared with PyTorch's: first or second ones."""
    known = _compared(order).get(op)
    return known is not None and all(_option(name, value) in known for name, value in attrs.items())


@cache
def _compared(order: Order) -> dict[str, set[tuple[Any, ...]]]:
    found: dict[str, set[tuple[Any, ...]]] = {}
    for name in SECTIONS:
        for sample in section(name).samples:
            if sample.get(order) and sample["op"] != "getitem" and skip_of(sample) is None:
                options = found.setdefault(lookup(sample["op"]).name, set())
                options.update(_option(*item) for item in sample["attrs"].items())
    return found


def _option(name: str, value: Any) -> tuple[Any, ...]:
    """Return what distinguishes options: their values where these are words or truth values."""
    return (name, value) if isinstance(value, str | bool) else (name,)
