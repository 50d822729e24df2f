"""The least time that a step can take on this machine: its matrix products at the measured peak, then its optimizer.

The optimizer's pass reads or writes seven arrays as large as the parameters, at the rate at which this machine streams
as much memory. Everything else (activations, losses, normalisation) is left out, so a program goes below
only if it multiplies faster than the libraries that were measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tests.benchmarks.workloads import ADAM_PASSES, Workload

RESIDENT = 4
"""Of the seven passes, how many arrays there are: parameters, gradients and both moments."""


@dataclass(frozen=True)
class Peaks:
    """What the machine reached: operations a second by dtype, bytes a second by the bytes that were streamed."""

    products: Mapping[str, float]
    streams: Mapping[int, float]

    @classmethod
    def from_json(cls, document: Mapping[str, Any], *others: Mapping[str, Any]) -> Self:
        """Read what `peaks` printed; of `others`, by other libraries, the products count where they are faster."""
        products: dict[str, float] = {}
        for each in (document, *others):
            products |= {dtype: max(rate, products.get(dtype, 0.0)) for dtype, rate in each["products"].items()}
        return cls(products, {int(size): rate for size, rate in document["streams"].items()})

    def stream_rate(self, size: float) -> float:
        """Return the rate for memory of `size` bytes: the best of as much or more."""
        # Less memory streams no slower; what is measured of small sizes is mostly what a call costs.
        return max(
            [rate for measured, rate in self.streams.items() if measured >= size] or [min(self.streams.values())]
        )


def floor_ms(workload: Workload, parameters: int, peaks: Peaks) -> float:
    """Return the least milliseconds of a step of a model of so many parameters, all copies of it together."""
    array = workload.copies * parameters * {"float32": 4, "float64": 8}[workload.dtype]
    update = ADAM_PASSES * array / peaks.stream_rate(RESIDENT * array)
    products = peaks.products[workload.dtype]
    if workload.mixed:  # NumPy has no products of bfloat16 to measure
        products = peaks.products.get("bfloat16", products)
    return 1e3 * (workload.flops / products + update)
