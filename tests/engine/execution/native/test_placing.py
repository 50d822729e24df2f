"""Elements placed by index, sorted, limited, in windows: compiled kernels beside NumPy's, and bad indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.value import Array
from tests.support.rows import each_row

RunBoth = Callable[..., tuple[list[Array], list[Array]]]
Compiled = Callable[..., bool]
RNG = np.random.default_rng(11)
WITH_NAN = np.round(RNG.standard_normal((4, 33)), 1)
WITH_NAN[1, ::7] = np.nan
INDEX = RNG.integers(-5, 5, (2, 8, 3))
DATA = RNG.standard_normal((2, 5, 3))
SOURCE = RNG.standard_normal((2, 8, 3))

CALLS: list[tuple[str, list[Array], dict[str, Any]]] = [
    ("argsort", [WITH_NAN], {}),
    ("argsort", [WITH_NAN], {"descending": True}),
    ("argsort", [WITH_NAN], {"axis": 0}),
    ("argsort", [RNG.integers(0, 9, (3, 50))], {"descending": True}),
    ("scatter_set", [DATA, INDEX, SOURCE], {"axis": 1}),
    ("scatter_extreme", [DATA, INDEX, SOURCE], {"axis": 1, "largest": True}),
    ("scatter_extreme", [DATA, INDEX, SOURCE], {"axis": 1, "largest": False}),
    ("scatter_extreme", [np.full((2, 5, 3), 9), INDEX, np.abs(INDEX)], {"axis": 1, "largest": False}),
    ("scatter_prod", [DATA, INDEX, SOURCE], {"axis": 1}),
    ("index_set", [DATA[0], SOURCE[0], INDEX[0, :, 0]], {"axes": (0,)}),
    ("index_set", [DATA[0], SOURCE[0, :3], INDEX[0, 0]], {"axes": (0,)}),
    ("limit_rows", [DATA[0], INDEX[0, :, 1]], {"max_norm": 1.0}),
    ("limit_rows", [DATA[0], INDEX[0]], {"max_norm": 0.5, "norm_type": 1.0}),
    ("limit_rows", [DATA[0], INDEX[0]], {"max_norm": 0.5, "norm_type": float("inf")}),
    ("im2col", [RNG.standard_normal((2, 3, 7, 6))], {"kernel": (3, 2), "stride": (2, 1), "padding": 2, "dilation": 2}),
    ("col2im", [RNG.standard_normal((2, 18, 28))],
     {"size": (7, 6), "kernel": (3, 2), "stride": (2, 1), "padding": (2, 1), "dilation": (2, 1)}),
    ("unfold_back", [RNG.standard_normal((2, 5, 4, 3))], {"axis": 1, "extent": 11, "step": 2}),
    ("slice_add", [RNG.standard_normal((4, 6)), RNG.standard_normal((2, 3))], {"strides": (12, 2), "offset": 1}),
    ("prod", [DATA], {"axis": 1}),
    ("prod", [DATA], {"axis": (1, 2), "keepdims": True}),
    ("product_of_others", [np.where(DATA > 1, 0, DATA)], {"axis": 1}),
    ("all", [DATA > -1], {"axis": 1}),
    ("any", [DATA > 1], {"axis": (0, 1)}),
    ("logcumsumexp", [np.where(DATA > 1, -np.inf, DATA * 50)], {"axis": 1}),
]  # fmt: skip


@each_row("dtype", ("float32", "float64"))
@each_row(("op", "operands", "attrs"), CALLS, ids=[op for op, _, _ in CALLS])
def test_results_are_those_of_numpy(
    op: str, operands: list[Array], attrs: dict[str, Any], dtype: str, run_both: RunBoth
) -> None:
    given = [x.astype(dtype) if x.dtype.kind == "f" else x for x in operands]
    (found,), (wanted,) = run_both(op, *given, **attrs)
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-12)


@each_row(
    ("op", "operands", "attrs"),
    [
        ("scatter_set", [DATA, INDEX + 1, SOURCE], {"axis": 1, "unsafe": False}),
        ("index_set", [DATA[0], SOURCE[0], INDEX[0, :, 0] - 6], {"axes": (0,), "unsafe": False}),
        ("limit_rows", [DATA[0], INDEX[0] + 6], {"max_norm": 1.0, "norm_type": 2.0}),
    ],
)
def test_an_index_out_of_range_is_reported(
    op: str, operands: list[Array], attrs: dict[str, Any], compiled: Compiled
) -> None:
    assert not compiled(op, operands, [np.empty_like(operands[0])], attrs)
