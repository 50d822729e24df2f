"""Whether a replay came out as the fit that it runs again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """How two runs compare; false if they differ anywhere.

    Attributes:
        bit_exact: whether metric rows, parameters, buffers and optimizer state are equal, bit for bit.
        differences: what of them is not.
        first_row: the number of the first metric row that is not, where the server can determine it.
    """

    bit_exact: bool
    differences: tuple[str, ...]
    first_row: int | None

    def __bool__(self) -> bool:
        return self.bit_exact

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> "Verdict":
        """Read what the server says."""
        return cls(document["bit_exact"], tuple(document["differences"]), document["first_row"])
