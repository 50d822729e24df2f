"""Products, factorisations, equations and functions of matrices."""

from engine.ops.linalg import (
    contraction,
    determinant,
    diagonals,
    equations,
    factorization,
    matmul,
    matrices,
    matrix_functions,
    spectrum,
    vector_products,
)
