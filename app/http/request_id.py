"""X-Request-Id: names a request in its answer and in the log."""

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from app.domain.ids import new_id
from app.http.headers import header

HEADER = "X-Request-Id"
_ACCEPTED = re.compile(r"[A-Za-z0-9._\-]{1,128}")
_KEY = "adjoint.request_id"


def assign_request_id(scope: MutableMapping[str, Any]) -> str:
    """Give the request the id that its client chose, if that is well-formed, else a new one."""
    chosen = header(scope, b"x-request-id")
    request_id = chosen if chosen is not None and _ACCEPTED.fullmatch(chosen) else new_id("req")
    scope[_KEY] = request_id
    return request_id


def request_id_of(scope: Mapping[str, Any]) -> str:
    """Return the id that was assigned."""
    return str(scope.get(_KEY, ""))
