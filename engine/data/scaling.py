"""Scales: the normalisation of inputs, stored with the model and inverted for predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.core.dtypes import FLOAT64
from engine.core.errors import CheckpointError
from engine.core.value import Array

SHIFT, SCALE = "/shift", "/scale"


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """(x - shift) / scale for each element of a row, in float64; both have the shape of a row."""

    shift: Array
    scale: Array

    def apply(self, values: Array, out: Array | None = None) -> Array:
        """Return normalised values (float64); axes before those of a row (batch, time) are broadcast."""
        centred = np.subtract(np.asarray(values, np.float64), self.shift, out=out)
        return np.asarray(np.divide(centred, self.scale, out=out))

    def invert(self, values: Array) -> Array:
        """Return the original values of normalised ones (float64)."""
        return np.asarray(np.asarray(values, np.float64) * self.scale + self.shift)


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """The affine map of each normalised input."""

    of: Mapping[str, Affine] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.of

    def apply(self, name: str, values: Array, out: Array | None = None) -> Array:
        """Return the values of an input for the graph: float64 if it is normalised, else unchanged."""
        return self.of[name].apply(values, out) if name in self.of else values

    def invert(self, name: str, values: Array) -> Array:
        """Return values in the units of the column of an input, as for predicted targets."""
        return self.of[name].invert(values) if name in self.of else values

    def to_arrays(self) -> dict[str, Array]:
        """Return the float64 arrays for a checkpoint: "NAME/shift" and "NAME/scale" by input."""
        maps = self.of.items()
        return {**{name + SHIFT: m.shift for name, m in maps}, **{name + SCALE: m.scale for name, m in maps}}

    @staticmethod
    def from_arrays(arrays: Mapping[str, Array]) -> Scales:
        """Read the result of `to_arrays`.

        Raises:
            CheckpointError: an array is missing, of another type or shape, or a scale is not positive.
        """
        names = dict.fromkeys(key.removesuffix(SHIFT).removesuffix(SCALE) for key in arrays)
        if set(arrays) != {name + end for name in names for end in (SHIFT, SCALE)}:
            raise CheckpointError(f"normalisation needs a shift and a scale by input, not {', '.join(sorted(arrays))}")
        return Scales({name: _affine(name, arrays[name + SHIFT], arrays[name + SCALE]) for name in names})


def _affine(name: str, shift: Array, scale: Array) -> Affine:
    if shift.dtype != FLOAT64 or scale.dtype != FLOAT64 or shift.shape != scale.shape:
        kinds = f"{shift.dtype} {list(shift.shape)} and {scale.dtype} {list(scale.shape)}"
        raise CheckpointError(f"shift and scale of {name!r} must be float64 of one shape, not {kinds}")
    if not (np.isfinite(shift).all() and np.isfinite(scale).all() and (scale > 0).all()):
        raise CheckpointError(f"shift and scale of {name!r} must be finite, and scales greater than 0")
    return Affine(shift, scale)
