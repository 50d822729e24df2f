"""The forms that factors of matrices are compared in: their signs, and bases of spaces, are a matter of taste.

Written in what the arrays of both sides have; `turned` exchanges the rows and columns of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Turn = Callable[[Any], Any]


def canonical(form: str, outputs: Sequence[Any], turned: Turn) -> tuple[list[Any], list[Any]]:
    """Return what is compared with its gradients, and what by value alone."""
    return FORMS[form](list(outputs), turned)


def _magnitudes(outputs: list[Any], turned: Turn) -> tuple[list[Any], list[Any]]:
    return [output.abs() for output in outputs], []


def _singular(outputs: list[Any], turned: Turn) -> tuple[list[Any], list[Any]]:
    u, s, vt = outputs
    v, rank = turned(vt), s.shape[-1]
    return [u[..., :rank].abs(), s, v[..., :rank].abs()], [*_space(u, rank, turned), *_space(v, rank, turned)]


def _triangular(outputs: list[Any], turned: Turn) -> tuple[list[Any], list[Any]]:
    q, r = outputs
    rank = min(q.shape[-2], r.shape[-1])
    return [q[..., :rank].abs(), r.abs()], _space(q, rank, turned)


def _space(vectors: Any, first: int, turned: Turn) -> list[Any]:
    """The projection onto the space of the columns from `first` on, if there are any."""
    columns = vectors[..., first:]
    return [columns @ turned(columns)] if columns.shape[-1] else []


FORMS: dict[str, Callable[[list[Any], Turn], tuple[list[Any], list[Any]]]] = {
    "abs": _magnitudes,
    "svd": _singular,
    "qr": _triangular,
}
