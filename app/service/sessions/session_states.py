"""What the state of a session means to those who want something of it."""

from collections.abc import Mapping
from types import MappingProxyType

from app.domain.errors import StepRefused
from app.domain.session import SessionRecord, SessionState

REFUSED: Mapping[SessionState, str] = MappingProxyType(
    {
        SessionState.PAUSED: "session {id} is paused and takes no steps; resume it first",
        SessionState.CLOSED: "session {id} is closed; begin another one, with a checkpoint of it if it has saved one",
        SessionState.EXPIRED: "session {id} was not used for longer than its ttl_seconds and has expired; begin "
        "another one with its checkpoint{checkpoint}",
        SessionState.FAILED: "session {id} has failed ({error}); begin another one, with a checkpoint of it if it has "
        "saved one",
    }
)


def ended(session: SessionRecord, next_seq: int | None = None) -> StepRefused:
    """Return why a session that is not active takes no steps; `next_seq` is its next step, if that is known."""
    error = (session.error or {}).get("code", "")
    checkpoint = f" {session.checkpoint_id}" if session.checkpoint_id else ", if it has saved one"
    detail = REFUSED[session.state].format(id=session.id, error=error, checkpoint=checkpoint)
    known = {} if next_seq is None else {"expected_seq": next_seq}
    return StepRefused(detail, code=f"session_{session.state.value}", extensions=known)


def expiring(session: SessionRecord) -> StepRefused:
    """Return why a session takes no steps whose time is over, while its last checkpoint is being saved."""
    detail = f"session {session.id} was not used for longer than its ttl_seconds and is expiring; begin another one"
    return StepRefused(detail, code=f"session_{SessionState.EXPIRED.value}")
