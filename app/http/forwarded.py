"""Requests that another server of the same database passes on: it has checked who sends them."""

import json
from dataclasses import dataclass
from hmac import compare_digest

from starlette.types import Scope

from app.domain.access import Caller
from app.domain.access import Scope as KeyScope
from app.domain.errors import Forbidden
from app.http.request_scope import header

SECRET = b"adjoint-cluster-secret"
CALLER = b"adjoint-cluster-caller"


@dataclass(frozen=True, slots=True)
class ForwardedCaller:
    """Who has sent a request that another server passes on: None as the caller if that needs no keys."""

    caller: Caller | None
    address: str | None


def read_forwarded(scope: Scope, secret: bytes | None) -> ForwardedCaller | None:
    """Return who has sent a request to the server that passes it on; None for any other request.

    Forbidden if it claims to be passed on, and does not present the `secret` of the servers.
    """
    sent = header(scope, SECRET)
    if sent is None:
        return None
    if secret is None or not compare_digest(sent.encode("latin-1"), secret):
        raise Forbidden("only servers that share a database may pass requests on", code="not_a_server")
    fields = json.loads(header(scope, CALLER) or "{}")
    caller = None
    if fields.get("key") is not None:
        caller = Caller(fields["key"], fields["tenant"], frozenset(KeyScope(each) for each in fields["scopes"]))
    return ForwardedCaller(caller, fields.get("address"))
