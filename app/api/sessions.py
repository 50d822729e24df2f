"""Routes of sessions, but for their steps."""

import asyncio
from typing import Annotated

from fastapi import Path, Query, Response

from app.api.deps import SessionId, SessionsDep
from app.api.idempotency import IdempotentDep
from app.api.list_queries import SessionQuery
from app.api.routing import router
from app.api.schemas.checkpoints import Checkpoint
from app.api.schemas.session_steps import SEQ_MAX, Operation
from app.api.schemas.sessions import Session, SessionList, SessionRequest
from app.api.session_steps import PATH, step_response
from app.http.responses import JsonResponse

routes = router("sessions")

WAIT_MAX = 60.0

Wake = Annotated[bool, Query(description="Start a process if there is none, so that every field is known.")]
PathSeq = Annotated[int, Path(ge=1, le=SEQ_MAX, description="Position of the step in the order of steps, from 1.")]
Wait = Annotated[float, Query(ge=0, le=WAIT_MAX, description="Maximum time to wait for the result, in seconds.")]


@routes.post("/v1/sessions", status_code=201, response_model=Session)
def create_session(request: SessionRequest, sessions: SessionsDep, idempotent: IdempotentDep) -> Response:
    """Create a session.

    Validates the request in full and starts a session, which holds parameters, gradients and optimizer state
    between steps.
    """
    return idempotent.answer(lambda save_response: sessions.create(request.document(), save_response), Session.show)


@routes.get("/v1/sessions", response_model=SessionList)
def list_sessions(query: SessionQuery, sessions: SessionsDep) -> Response:
    """List sessions.

    Lists sessions in pages, including those that have ended.
    """
    return JsonResponse(SessionList.show(sessions.list(query.page, query.filters)))


@routes.get(PATH, response_model=Session)
async def get_session(session_id: SessionId, sessions: SessionsDep, wake: Wake = False) -> Response:
    """Get a session.

    Returns a session and the state of its process. With `wake`, an idle session starts its process first.
    """
    view = await (sessions.wake(session_id) if wake else asyncio.to_thread(sessions.get, session_id))
    return JsonResponse(Session.show(view))


@routes.delete(PATH, status_code=204)
async def close_session(session_id: SessionId, sessions: SessionsDep) -> None:
    """Close a session.

    Ends a session and deletes its state. Its record is kept.
    """
    await sessions.close(session_id)


@routes.post(f"{PATH}:pause", response_model=Session)
async def pause_session(session_id: SessionId, sessions: SessionsDep) -> Response:
    """Pause a session.

    Writes the state of a session to disk and releases its process until it is resumed.
    """
    return JsonResponse(Session.show(await sessions.pause(session_id)))


@routes.post(f"{PATH}:resume", response_model=Session)
async def resume_session(session_id: SessionId, sessions: SessionsDep) -> Response:
    """Resume a session.

    Lets a paused session accept steps again.
    """
    return JsonResponse(Session.show(await sessions.resume(session_id)))


@routes.get(f"{PATH}/operations/{{seq}}", response_model=Operation)
async def get_operation(session_id: SessionId, seq: PathSeq, sessions: SessionsDep, wait: Wait = 0) -> Response:
    """Get the result of an asynchronous step.

    Returns the result of a step that was accepted with `Prefer: respond-async`. With `wait`, the response is held
    until the step is done or the time is over.
    """
    carried = await sessions.operation(session_id, seq, wait)
    if carried.checkpoint is None:
        return step_response(session_id, "", carried)
    checkpoint = Checkpoint.show(carried.checkpoint)
    return JsonResponse({"seq": seq, "done": True, "answer": {**checkpoint.model_dump(mode="json"), "seq": seq}})
