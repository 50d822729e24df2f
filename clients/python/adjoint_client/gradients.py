"""Captured gradients: which there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CapturedGradient:
    """A gradient of the loss that the server holds, without its numbers.

    Attributes:
        step: the steps that were done; 0 is the gradient at the first values.
        parameter: what it is by.
        dtype: the type of its numbers.
        shape: that of the parameter.
    """

    step: int
    parameter: str
    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> CapturedGradient:
        """Read what the server says."""
        return cls(document["step"], document["parameter"], document["dtype"], tuple(document["shape"]))
