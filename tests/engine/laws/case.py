"""One sample of one op, with what several laws compute from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from engine.core.dtypes import is_float
from engine.core.modes import tracing
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.core.value import Array, Value, tensor

T = TypeVar("T")
FLOATS = ("float64", "float32", "float16")
EVERY_FLOAT = (*FLOATS, "bfloat16")


class Run(NamedTuple):
    """Inputs of a call and its results."""

    inputs: list[Value]
    outputs: list[Value]


class Case:
    """One sample of one op.

    What it returns is computed once and shared: laws must not write to it.
    """

    def __init__(self, op: Op[Any], number: int, sample: Sample) -> None:
        self.op, self.number, self.sample = op, number, sample
        self._arrays: dict[str, list[Array]] = {}
        self._computed: dict[str, Run] = {}
        self._traced: dict[str, Run] = {}
        self._once: dict[Callable[[Case], Any], Any] = {}

    def __str__(self) -> str:
        """Return the op with the shapes of the inputs and the attributes."""
        shapes = [list(argument.shape) for argument in self.sample.arguments]
        return f"sample {self.number}, {self.op.name}({shapes}, {self.sample.attrs})"

    def once(self, function: Callable[[Case], T]) -> T:
        """Return what a function returns for this case, which is called once."""
        if function not in self._once:
            self._once[function] = function(self)
        result: T = self._once[function]
        return result

    def arrays(self, dtype: Any = "float64") -> list[Array]:
        """Draw the inputs, the floating ones in `dtype`."""
        key = str(dtype)
        if key not in self._arrays:
            drawn = [np.asarray(array) for array in self.sample.arrays(f"{self.op.name}-{self.number}")]
            self._arrays[key] = [
                array.astype(dtype, copy=False) if array.dtype.kind == "f" else array for array in drawn
            ]
        return self._arrays[key]

    def call(self, values: Sequence[Value]) -> list[Value]:
        """Apply the op; a list of its results."""
        created = self.op(*values, **self.sample.attrs)
        return list(created) if isinstance(created, tuple) else [created]

    def computed(self, dtype: Any = "float64") -> Run:
        """Apply the op to leaves that require gradients if they can."""
        key = str(dtype)
        if key not in self._computed:
            inputs = [tensor(array, requires_grad=is_float(array.dtype)) for array in self.arrays(dtype)]
            self._computed[key] = Run(inputs, self.call(inputs))
        return self._computed[key]

    def traced(self, dtype: Any = "float64") -> Run:
        """Apply the op to such leaves without data."""
        key = str(dtype)
        if key not in self._traced:
            inputs = [
                Value(array.shape, array.dtype, None, name=f"x{place}", requires_grad=is_float(array.dtype))
                for place, array in enumerate(self.arrays(dtype))
            ]
            with tracing(no_key):
                self._traced[key] = Run(inputs, self.call(inputs))
        return self._traced[key]


def no_key() -> Value:
    """Refuse to supply a key."""
    raise AssertionError("a sample of a random op must hold its key")


def floats(values: Sequence[Value]) -> list[Value]:
    """Return those that gradients go through, whatever their type is called."""
    return [value for value in values if is_float(value.dtype)]


def traceable(case: Case) -> bool:
    """Return whether the shapes of the results are known without data."""
    return not case.op.data_dependent


def carries_gradient(case: Case) -> bool:
    """Return whether gradients go from floating results to floating inputs."""
    return traceable(case) and case.op.differentiable and all(floats(values) for values in case.traced())
