"""Factors of matrices and solutions of systems: functions of the library that NumPy calls too, by their addresses.

The address is an operand of the kernel: a library may lack these functions, and has matrix products all the same.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

ROW_MAJOR, LEFT, UPPER, LOWER, PLAIN, TRANSPOSED, NON_UNIT, UNIT = 101, 141, 121, 122, 111, 112, 131, 132

_WORD, _INT = ir.IntType(64), ir.IntType(32)


@intrinsic
def factored(typing_context: Any, function: Any, triangle: Any, n: Any, matrix: Any, info: Any) -> Any:
    """Call LAPACK's potrf on addresses: of the letter of a triangle, the extent, a matrix without gaps, and the result.

    The int64 at `info` is not 0 afterwards if the matrix is not positive definite.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, triangle, n, matrix, info = arguments
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * 6)
        pointer = builder.inttoptr(function, kind.as_pointer())
        builder.call(pointer, [triangle, n, matrix, n, info, ir.Constant(_WORD, 1)])  # the length of the letter
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


@intrinsic
def substituted(
    typing_context: Any,
    function: Any,
    upper: Any,
    transposed: Any,
    unit: Any,
    m: Any,
    n: Any,
    one: Any,
    a: Any,
    lda: Any,
    b: Any,
) -> Any:
    """B <- op(A)^-1 B by BLAS's trsm on addresses of row-major matrices; B is m by n without gaps.

    `one` is 1 of the dtype; `upper` selects the triangle of A, as it lies in memory.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, upper, transposed, unit, m, n, one, a, lda, b = arguments
        kind = ir.FunctionType(ir.VoidType(), [_INT] * 5 + [_WORD] * 2 + [arguments[6].type] + [_WORD] * 4)

        def either(flag: Any, yes: int, no: int) -> Any:
            set_ = builder.icmp_signed("!=", flag, ir.Constant(_WORD, 0))
            return builder.select(set_, ir.Constant(_INT, yes), ir.Constant(_INT, no))

        builder.call(
            builder.inttoptr(function, kind.as_pointer()),
            [
                ir.Constant(_INT, ROW_MAJOR), ir.Constant(_INT, LEFT), either(upper, UPPER, LOWER),
                either(transposed, TRANSPOSED, PLAIN), either(unit, UNIT, NON_UNIT), m, n, one, a, lda, b, n,
            ],
        )  # fmt: skip
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6, one, *[types.int64] * 3), generate


@intrinsic
def solved(typing_context: Any, function: Any, n: Any, columns: Any, a: Any, pivots: Any, b: Any, info: Any) -> Any:
    """Call LAPACK's gesv on addresses: of the extent, the number of right sides, matrix, pivots, right sides, result.

    Matrices lie column by column without gaps. The right sides become the solutions, and the matrix its factors; the
    int64 at `info` is not 0 afterwards if it is singular.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, n, columns, a, pivots, b, info = arguments
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * 8)
        builder.call(builder.inttoptr(function, kind.as_pointer()), [n, columns, a, n, pivots, b, n, info])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), generate


@intrinsic
def decomposed(typing_context: Any, function: Any, n: Any, a: Any, pivots: Any, info: Any) -> Any:
    """Call LAPACK's getrf on addresses: of the extent, a matrix, pivots, and the result; see `solved`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, n, a, pivots, info = arguments
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * 6)
        builder.call(builder.inttoptr(function, kind.as_pointer()), [n, n, a, n, pivots, info])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate
