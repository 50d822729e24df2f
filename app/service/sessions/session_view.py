"""A session as it is shown: its record, and how its process is doing."""

from dataclasses import dataclass

from app.domain.session import SessionRecord
from app.service.sessions.session_workforce import SessionStatus


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session at one moment. `session.request` holds every option, and `parameters`: their names, shapes, dtypes."""

    session: SessionRecord
    status: SessionStatus
