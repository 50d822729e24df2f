"""Arrays as `.npy` bodies and as answers."""

import io
from math import prod
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import Depends, Header, Query, Response
from numpy.typing import NDArray

from app.api.answers import JsonAnswer
from app.domain.errors import Finding, Invalid
from app.ingest.errors import IngestError
from app.ingest.npy_header import read_header
from app.ingest.sources import Region
from app.spelling.npy import NPY, npy_body
from app.spelling.tensors import tensor_document

HEADER_BYTES_MAX = 64 * 1024

TensorFormat = Literal["json", "npy"]


def read_npy(body: bytes) -> NDArray[Any]:
    """Return the array that `body` holds; Invalid if it is no well-formed `.npy` of a numeric type."""
    source = Region(io.BufferedReader(io.BytesIO(body)), 0, len(body))
    try:
        header = read_header(source, HEADER_BYTES_MAX)
    except IngestError as error:
        raise _invalid(error.code, error.detail) from error
    needed = prod(header.shape) * header.dtype.itemsize
    if needed != source.remaining:
        raise _invalid("truncated", f"the array needs {needed} bytes, and {source.remaining} follow its header")
    flat = np.frombuffer(body, header.dtype, offset=len(body) - needed)
    array = flat.reshape(header.shape, order="F" if header.fortran_order else "C")
    return array.astype(header.dtype.newbyteorder("="), copy=False)


def tensor_answer(array: NDArray[Any], format: TensorFormat) -> Response:
    """Answer with an array."""
    if format == "npy":
        return Response(npy_body(array), media_type=NPY)
    return JsonAnswer(tensor_document(array))


async def _tensor_format(
    format: Annotated[TensorFormat | None, Query(description="Otherwise the Accept header decides.")] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "*/*",
) -> TensorFormat:
    return format or ("npy" if NPY in accept else "json")


TensorFormatDep = Annotated[TensorFormat, Depends(_tensor_format)]


def _invalid(code: str, detail: str) -> Invalid:
    return Invalid(detail, code=code, findings=[Finding("", code, detail)])
