"""X-Request-Id: names a request in its answer and in the log."""

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from app.domain.ids import new_id

HEADER = "X-Request-Id"
_ACCEPTED = re.compile(rb"[A-Za-z0-9._\-]{1,128}")
_KEY = "adjoint.request_id"


def assign_request_id(scope: MutableMapping[str, Any]) -> str:
    """Give the request the id that its client chose, if that is well-formed, else a new one."""
    chosen = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    request_id = chosen.decode() if _ACCEPTED.fullmatch(chosen) else new_id("req")
    scope[_KEY] = request_id
    return request_id


def request_id_of(scope: Mapping[str, Any]) -> str:
    """Return the id that was assigned."""
    return str(scope.get(_KEY, ""))
