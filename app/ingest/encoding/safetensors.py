"""Arrays by name as safetensors bodies."""

import io
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

import engine


def safetensors_body(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None) -> bytes:
    """Encode arrays, with all the types that the engine has, in the order given; `metadata` goes to `__metadata__`."""
    buffer = io.BytesIO()
    engine.write_tensors(buffer, tensors, metadata or {})
    return buffer.getvalue()
