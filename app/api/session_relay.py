"""Steps on their way to a session, and what came of them on the way back: bytes that are passed on as they are."""

import re
import secrets

from fastapi import Request, Response

from app.api.deps import services_of
from app.api.downloads import send_and_delete
from app.api.once import KEY_PATTERN
from app.api.schemas.checkpoints import Checkpoint
from app.api.session_bodies import Said
from app.domain.errors import Finding, Invalid, NotFound
from app.domain.frames import Step
from app.domain.ids import is_id
from app.http.request_scope import header
from app.http.responses import JsonResponse, select_media_type
from app.service.sessions.steps import Carried

PATH = "/v1/sessions/{session_id}"
STEP_ID_BYTES = 12
ACCEPTED = 202
_KEY = re.compile(KEY_PATTERN)


async def relay(request: Request, session_id: str, verb: str, said: Said, answers: tuple[str, ...]) -> Response:
    """Have a step carried out, and answer with what came of it in the one of `answers` that the client likes best."""
    scope = request.scope
    step = Step(
        id=secrets.token_hex(STEP_ID_BYTES),
        verb=verb,
        options=said.options,
        seq=said.seq,
        key=_key(header(scope, b"idempotency-key")),
        media=said.media,
        accept=select_media_type(header(scope, b"accept") or "*/*", answers),
        notify="respond-async" in (header(scope, b"prefer") or "").lower(),
    )
    carried = await services_of(request).sessions.carry_out(session_id, step, said.body)
    return relayed(session_id, step.id, carried)


def session_id_of(request: Request) -> str:
    """Return the id in the path; NotFound if it is none of a session."""
    text: str = request.path_params["session_id"]
    if not is_id("sess", text):
        raise NotFound("there is nothing here: an id of this kind is sess_ and 26 characters")
    return text


def relayed(session_id: str, step_id: str, carried: Carried) -> Response:
    """Answer with what came of a step."""
    headers = {"Idempotent-Replayed": "true"} if carried.replayed else {}
    if carried.checkpoint is not None:
        headers["Location"] = f"/v1/checkpoints/{carried.checkpoint.id}"
        return JsonResponse(Checkpoint.of(carried.checkpoint), carried.status, headers)
    if carried.status == ACCEPTED:
        headers["Location"] = f"/v1/sessions/{session_id}/operations/{carried.seq}"
        return JsonResponse({"id": step_id, "seq": carried.seq, "done": False}, ACCEPTED, headers)
    if isinstance(carried.body, bytes):
        return Response(carried.body, carried.status, headers, carried.media)
    return send_and_delete(carried.body, carried.media, carried.status, headers)


def _key(text: str | None) -> str | None:
    if text is None or _KEY.match(text):
        return text
    detail = "header parameter: an Idempotency-Key has 1 to 255 characters, none of them a space"
    raise Invalid(detail, code="malformed", findings=[Finding("/idempotency-key", "malformed", detail)])
