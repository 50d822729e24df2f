"""Winograd's minimal filters F(m, r): m results of a correlation with r taps by m + r - 1 multiplications, not m r.

With matrices A, B and G the results are A' (G w o B' x), where o multiplies number by number (Winograd 1980; Lavin and
Gray 2016). The matrices are those of Toom and Cook: x and w are polynomials that are evaluated at m + r - 2 points and
at infinity, multiplied there, and interpolated. In two axes each matrix is applied along both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Matrix = tuple[tuple[float, ...], ...]

POINTS = (Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-2))
"""Where polynomials are evaluated, as many of the first as are needed.

Sums lose fewer digits with these than with 2 and -2 (Barabasz et al. 2020, "Error analysis and improving the accuracy
of Winograd convolution"): errors of the longest along one axis are 3 times those of a correlation.
"""


@dataclass(frozen=True, slots=True)
class Filter:
    """The matrices of F(m, r).

    Attributes:
        image: B', square.
        weight: G, with a column for each tap.
        result: A', with a row for each result; its transpose transforms a cotangent.
    """

    image: Matrix
    weight: Matrix
    result: Matrix

    @property
    def results(self) -> int:
        """How many results there are: m."""
        return len(self.result)

    @property
    def taps(self) -> int:
        """How many taps: r."""
        return len(self.weight[0])


def transposed(matrix: Matrix) -> Matrix:
    """Return the transpose of a matrix."""
    return tuple(zip(*matrix, strict=True))


def _polynomial(roots: Sequence[Fraction], extent: int) -> tuple[float, ...]:
    """Return the coefficients of the product of x - root, the constant one first, and zeros behind."""
    coefficients = [Fraction(1)]
    for root in roots:
        shifted, kept = [Fraction(0), *coefficients], [*coefficients, Fraction(0)]
        coefficients = [high - root * low for high, low in zip(shifted, kept, strict=True)]
    return (*map(float, coefficients), *[0.0] * (extent - len(coefficients)))


def minimal_filter(results: int, taps: int) -> Filter:
    """Return F(results, taps), of at most 6 multiplications."""
    extent = results + taps - 1
    points = POINTS[: extent - 1]
    image, weight = [], []
    for point in points:
        others = [other for other in points if other != point]
        share = math.prod(point - other for other in others)
        image.append(_polynomial(others, extent))
        weight.append(tuple(float(point**tap / share) for tap in range(taps)))
    image.append(_polynomial(points, extent))
    weight.append((*[0.0] * (taps - 1), 1.0))
    result = [(*(float(point**place) for point in points), float(place == results - 1)) for place in range(results)]
    return Filter(tuple(image), tuple(weight), tuple(result))


@dataclass(frozen=True, slots=True)
class Form:
    """Filters along rows and columns of images, which make a result of a tile from one of an image.

    Attributes:
        rows, columns: the filters.
        overhead, overhead_by_weight: time of copies and transforms for each channel of a tile, in multiplications that
            take as long: of a convolution, and of the gradient by its weight.
        coarse, coarse_by_weight: whether errors are 3 to 10 times those of a correlation, and so for bfloat16 only.
    """

    rows: Filter
    columns: Filter
    overhead: int
    overhead_by_weight: int
    coarse: bool = False
    coarse_by_weight: bool = False

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of a kernel."""
        return self.rows.taps, self.columns.taps

    @property
    def results(self) -> tuple[int, int]:
        """Rows and columns of a tile of a result."""
        return self.rows.results, self.columns.results

    @property
    def planes(self) -> int:
        """How many numbers a transformed tile has."""
        return len(self.rows.image) * len(self.columns.image)


ONE = minimal_filter(1, 1)
TWO_OF_THREE, FOUR_OF_THREE, TWO_OF_FIVE = minimal_filter(2, 3), minimal_filter(4, 3), minimal_filter(2, 5)
FORMS = (
    Form(TWO_OF_THREE, TWO_OF_THREE, 170, 120),
    Form(FOUR_OF_THREE, FOUR_OF_THREE, 650, 500, coarse=True, coarse_by_weight=True),
    Form(TWO_OF_FIVE, TWO_OF_FIVE, 650, 500, coarse_by_weight=True),
    *(Form(minimal_filter(7 - taps, taps), ONE, 65, 45) for taps in (3, 4, 5)),
)
"""For kernels of 3 x 3 and 5 x 5 elements, and of 3 to 5 along rows."""
