"""Matrix products inside kernels: the C functions of NumPy's own BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112


def _declared(name: str, real: Any) -> Any:
    numbers = [types.int32] * 3 + [types.int64] * 3
    operands = [real, types.int64, types.int64, types.int64, types.int64, real, types.int64, types.int64]
    return types.ExternalFunction(name, types.void(*numbers, *operands))


_sgemm = _declared("adjoint_sgemm", types.float32)
_dgemm = _declared("adjoint_dgemm", types.float64)


def gemm(
    ta: Any,
    tb: Any,
    m: Any,
    n: Any,
    k: Any,
    alpha: Any,
    a: Any,
    lda: Any,
    b: Any,
    ldb: Any,
    beta: Any,
    c: Any,
    ldc: Any,
) -> None:
    """C <- alpha op(A) op(B) + beta C on addresses; op(A) is m by k, all row-major, leading dimensions in elements.

    `alpha` has the dtype. `ta` and `tb` are true where A is stored k by m, B n by k. What C held is not read where
    beta is 0.
    """
    raise NotImplementedError


@overload(gemm)
def _gemm(
    ta: Any,
    tb: Any,
    m: Any,
    n: Any,
    k: Any,
    alpha: Any,
    a: Any,
    lda: Any,
    b: Any,
    ldb: Any,
    beta: Any,
    c: Any,
    ldc: Any,
) -> Any:
    single = alpha == types.float32
    product, real = (_sgemm, np.float32) if single else (_dgemm, np.float64)

    def multiply(
        ta: Any,
        tb: Any,
        m: Any,
        n: Any,
        k: Any,
        alpha: Any,
        a: Any,
        lda: Any,
        b: Any,
        ldb: Any,
        beta: Any,
        c: Any,
        ldc: Any,
    ) -> None:
        product(
            np.int32(ROW_MAJOR), np.int32(TRANSPOSED if ta else PLAIN), np.int32(TRANSPOSED if tb else PLAIN),
            m, n, k, alpha, a, lda, b, ldb, real(beta), c, ldc,
        )  # fmt: skip

    return multiply
