"""Tensors on the wire."""

from typing import Annotated, Any

from pydantic import Field, RootModel, WithJsonSchema

from app.api.schemas.shapes import ResourceShape

TensorDocument = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": "A number, nested lists of numbers, or an object with dtype, shape and data (row-major); "
            "where a graph is computed, nonfinite may name the nulls in a flat list of data, as in answers.",
        }
    ),
]
"""A tensor that a client sends; the engine reads it."""


class TensorInput(RootModel[TensorDocument]):
    """A tensor that is a body of its own."""


class Tensor(ResourceShape):
    """An array: its elements in row-major order, null for one that is not finite."""

    dtype: str
    shape: list[int]
    data: list[float | bool | None]
    nonfinite: dict[str, str] = Field(
        description="Position in data: nan, inf or -inf, for every null in data. Where there are more than 1,000, a "
        "run of equal ones is named by its first and last position: 3-8."
    )
