"""Routes of a session's arrays: its parameters, their gradients, and its buffers."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response

from app.api.bodies import content_type, read_body, read_json_body
from app.api.deps import SessionId, services_of
from app.api.openapi_parts import JSON, binary_answer, upload_body
from app.api.routing import router
from app.api.schemas.session_steps import Seq, StepAnswer, TensorList, TensorStatistics
from app.api.schemas.values import Tensor
from app.api.session_steps import PATH, Key, Prefer, StepPayload, accepted, relay
from app.domain.documents import NPY, SAFETENSORS
from app.domain.errors import UnsupportedMedia

routes = router("sessions")

Kind = Literal["parameters", "gradients", "buffers"]
Read = Callable[..., Coroutine[Any, Any, Response]]

NAMES = {"parameters": "parameter", "gradients": "gradient", "buffers": "buffer"}

Stats = Annotated[bool, Query(description="Return statistics of the values instead of the values.")]
SeqInQuery = Annotated[
    Seq | None, Query(description="Position of the step in the order of steps, from 1; by default the next.")
]


def _list_of(kind: Kind) -> Read:
    async def read(session_id: SessionId, request: Request, stats: Stats = False) -> Response:
        return await relay(request, session_id, kind, StepPayload({"stats": stats}), (JSON, SAFETENSORS))

    return read


def _one_of(kind: Kind) -> Read:
    async def read(session_id: SessionId, name: str, request: Request, stats: Stats = False) -> Response:
        return await relay(request, session_id, kind, StepPayload({"name": name, "stats": stats}), (JSON, NPY))

    return read


def _replacing(kind: Literal["parameter", "gradient"]) -> Read:
    async def replace(
        session_id: SessionId,
        name: str,
        request: Request,
        seq: SeqInQuery = None,
        idempotency_key: Key = None,  # noqa: ARG001 (the relay reads it, and the next)
        prefer: Prefer = None,  # noqa: ARG001
    ) -> Response:
        return await relay(request, session_id, f"set_{kind}", await _given(request, name, seq), (JSON,))

    return replace


async def _given(request: Request, name: str, seq: int | None) -> StepPayload:
    kind = content_type(request)
    if kind == NPY:
        body = await read_body(request, services_of(request).settings.max_step_bytes)
        return StepPayload({"name": name}, seq, NPY, body)
    if kind != JSON:
        raise UnsupportedMedia(f"this route reads {JSON} and {NPY}; set Content-Type to what the body is")
    return StepPayload({"name": name, "value": (await read_json_body(request))[1]}, seq)


def _add_reads(kind: Kind) -> None:
    routes.add_api_route(
        f"{PATH}/{kind}",
        _list_of(kind),
        name=f"list_session_{kind}",
        summary=f"List the {kind} of a session",
        description=f"Lists the {kind} with their norms, or returns all of them as safetensors, according to Accept.",
        response_model=TensorList,
        responses=binary_answer(SAFETENSORS),
    )
    routes.add_api_route(
        f"{PATH}/{kind}/{{name:path}}",
        _one_of(kind),
        name=f"get_session_{NAMES[kind]}",
        summary=f"Get a {NAMES[kind]} of a session",
        description=f"Returns one of the {kind} as JSON or `.npy`, according to Accept, or its statistics (`stats`).",
        response_model=Tensor | TensorStatistics | None,
        responses=binary_answer(NPY),
    )


def _add_replacement(kind: Literal["parameter", "gradient"], description: str) -> None:
    routes.add_api_route(
        f"{PATH}/{kind}s/{{name:path}}",
        _replacing(kind),
        methods=["PUT"],
        name=f"replace_session_{kind}",
        summary=f"Replace a {kind} of a session",
        description=description,
        response_model=StepAnswer,
        responses=accepted(),
        openapi_extra=upload_body({JSON: "TensorInput", NPY: None}),
    )


_add_reads("gradients")
_add_reads("parameters")
_add_reads("buffers")
_add_replacement("parameter", "Replaces the value of a parameter by the tensor in the body.")
_add_replacement("gradient", "Replaces the gradient of a parameter by the tensor in the body; null removes it.")
