"""Replies as bytes: the result of a handler in the requested format, or an error document."""

from collections.abc import Iterable, Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np

import engine
from app.domain.documents import JSON, NPY, SAFETENSORS, nonfinite_name
from app.domain.errors import ApiError
from app.ingest.encoding import json_body, npy_body, safetensors_body, tensor_document
from app.service.resources.engine_documents import engine_faults
from app.worker.session.rows import Array

SINGLE_ARRAY = "tensor"
"""The name in safetensors of an array that is the whole answer."""


POISON_REQUEST: Mapping[str, Any] = MappingProxyType(
    {
        "status": 422,
        "title": "The step ends the process",
        "code": "step_lost_worker",
        "detail": "several processes of the session exited while they executed only this step; it is not tried again",
        "findings": [],
    }
)
"""The reply to a step that is not tried again."""

OUT_OF_MEMORY: Mapping[str, Any] = MappingProxyType(
    {
        "status": 422,
        "title": "Out of memory",
        "code": "out_of_memory",
        "detail": "the step needs more memory than is available; use fewer rows, or a micro_batch_size",
        "findings": [],
    }
)
"""The reply to a step that runs out of memory."""


def encode_answer(document: dict[str, Any] | Array | str | None, seq: int | None, accept: str) -> tuple[str, bytes]:
    """Encode an answer; return its media type, which is JSON if the requested one cannot represent it."""
    if isinstance(document, str):
        return accept, document.encode()
    if document is None:
        return JSON, json_body(None)
    if isinstance(document, np.ndarray):
        return _encode_array(document, accept)
    fields = {"seq": seq, **document}
    if _is_plain(fields.values()):
        fields.setdefault("nonfinite", {})
        return (JSON, json_body(fields)) if accept != SAFETENSORS else (accept, _safetensors(fields, {}))
    found = _ArrayExtractor(separate=accept in (NPY, SAFETENSORS))
    plain = found.plain(fields, "")
    if accept == NPY and len(found.arrays) == 1:
        return NPY, npy_body(next(iter(found.arrays.values())))
    if accept == NPY:
        found = _ArrayExtractor(separate=False)
        plain = found.plain(fields, "")
    plain["nonfinite"] = {**found.nonfinite, **plain.get("nonfinite", {})}
    return (accept, _safetensors(plain, found.arrays)) if accept == SAFETENSORS else (JSON, json_body(plain))


def _encode_array(array: Array, accept: str) -> tuple[str, bytes]:
    if accept == NPY:
        return NPY, npy_body(array)
    if accept == SAFETENSORS:
        return SAFETENSORS, safetensors_body({SINGLE_ARRAY: array})
    return JSON, json_body(tensor_document(array))


def _safetensors(document: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    return safetensors_body(arrays, {"answer": json_body(document).decode()})


def _is_plain(values: Iterable[Any]) -> bool:
    """Whether JSON can hold the values as they are: there are no arrays and no non-finite numbers."""
    for value in values:
        if isinstance(value, float):
            if not isfinite(value):
                return False
        elif isinstance(value, dict):
            if not _is_plain(value.values()):
                return False
        elif isinstance(value, np.ndarray) or (isinstance(value, list) and not _is_plain(value)):
            return False
    return True


class _ArrayExtractor:
    """Collects values that JSON cannot represent: arrays by pointer, and the names of non-finite numbers.

    Arrays that are not `separate` become tensor documents in place.
    """

    def __init__(self, *, separate: bool) -> None:
        self.arrays: dict[str, Array] = {}
        self.nonfinite: dict[str, str] = {}
        self._separate = separate

    def plain(self, value: Any, pointer: str) -> Any:
        if isinstance(value, dict):
            return {
                name: self.plain(v, f"{pointer}/{name}") for name, v in value.items() if self._keeps(v, pointer, name)
            }
        if isinstance(value, list):
            return [self.plain(item, f"{pointer}/{number}") for number, item in enumerate(value)]
        if isinstance(value, float) and not isfinite(value):
            self.nonfinite[pointer[1:]] = nonfinite_name(value)
            return None
        return tensor_document(value) if isinstance(value, np.ndarray) else value

    def _keeps(self, value: Any, pointer: str, name: str) -> bool:
        if not self._separate or not isinstance(value, np.ndarray):
            return True
        self.arrays[f"{pointer}/{name}"[1:]] = value
        return False


def encode_error(error: Exception) -> dict[str, Any]:
    """Encode an error as the members of a problem document, except `expected_seq`."""
    if isinstance(error, engine.EngineError):
        error = _to_domain_error(error)
    if isinstance(error, MemoryError):
        return dict(OUT_OF_MEMORY)
    if not isinstance(error, ApiError):
        return _problem(ApiError("internal error; the step was rolled back"))
    return _problem(error)


def _problem(error: ApiError) -> dict[str, Any]:
    findings = [{"pointer": f.pointer, "code": f.code, "detail": f.detail} for f in error.findings]
    fields = {"status": error.status, "title": error.title, "code": error.code, "detail": error.detail}
    return {**fields, "findings": findings, **error.extensions}


def _to_domain_error(error: engine.EngineError) -> ApiError:
    try:
        with engine_faults():
            raise error
    except ApiError as refused:
        return refused
