"""Arrays as `.npy` bodies and as answers."""

from typing import Annotated, Any, Literal

from fastapi import Depends, Header, Query, Response
from numpy.typing import NDArray

from app.domain.documents import NPY
from app.http.responses import JsonResponse
from app.ingest.arrays import read_arrays
from app.ingest.encoding.npy import npy_body
from app.ingest.encoding.tensors import tensor_document
from app.ingest.limits import IngestLimits

TensorFormat = Literal["json", "npy"]


def read_npy(body: bytes) -> NDArray[Any]:
    """Return the array that `body` holds; Invalid if it is no well-formed `.npy` of a numeric type."""
    return read_arrays(body, NPY, IngestLimits()).arrays[""]


def tensor_answer(array: NDArray[Any], format: TensorFormat) -> Response:
    """Answer with an array."""
    if format == "npy":
        return Response(npy_body(array), media_type=NPY)
    return JsonResponse(tensor_document(array))


async def _tensor_format(
    format: Annotated[TensorFormat | None, Query(description="Otherwise the Accept header decides.")] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "*/*",
) -> TensorFormat:
    return format or ("npy" if NPY in accept else "json")


TensorFormatDep = Annotated[TensorFormat, Depends(_tensor_format)]
