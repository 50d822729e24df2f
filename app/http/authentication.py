"""Access control: the Host and Origin of a request, its key, and the rate limits of that key.

A server on loopback is reached by every web page that a person of this machine opens; the Host allow-list stops names
that are rebound to 127.0.0.1, the Origin check stops pages of other sites from sending anything that changes.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.config.settings import Settings
from app.domain.access import DEFAULT_TENANT, Caller, acting_for
from app.domain.access import Scope as KeyScope
from app.domain.errors import ApiError, Forbidden, Unauthorized, Unparsable
from app.http.forwarded import ForwardedCaller, read_forwarded
from app.http.problems import problem
from app.http.rate_limit import LoginThrottle, RateLimiter
from app.http.request_scope import READINESS, SAFE_METHODS, AuthDecision, header, record_decision, scope_needed
from app.service.admin.keys import KeyRing

OWN_SITES = frozenset({"same-origin", "none"})
ANY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 (not bound here; compared with names)
VERSIONS = frozenset({"1.0", "1.1"})
_HOST = re.compile(r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._\-]{1,253}))(?::[0-9]{0,5})?")


class UriTooLong(ApiError):  # noqa: N818 (named as its answer is)
    """The path and query are longer than any of this interface."""

    code = "uri_too_long"
    status = 414
    title = "URI too long"


class HeadersTooLarge(ApiError):  # noqa: N818 (likewise)
    """The headers are more, or larger, than any client needs."""

    code = "headers_too_large"
    status = 431
    title = "Request header fields too large"


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that may be answered: who sends it, if that needs a key, and for which tenant.

    Attributes:
        is_anonymous: whether it is admitted without the key that other requests need.
        counted_key: id of the key whose rate limits it counts against.
    """

    caller: Caller | None = None
    tenant: str = DEFAULT_TENANT
    is_anonymous: bool = False
    counted_key: str | None = None

    @contextmanager
    def acting(self, scope: Scope) -> Iterator[None]:
        """Answer the request within the block, for its tenant."""
        record_decision(scope, AuthDecision(self.caller, admitted=True, is_anonymous=self.is_anonymous))
        with acting_for(self.tenant):
            yield


class AccessControl:
    """Decides on requests by their size, framing, Host, Origin and key, and counts those of each key."""

    def __init__(self, settings: Settings, ring: KeyRing) -> None:
        """Admit the keys of `ring`."""
        self._ring = ring
        self._settings = settings
        secret = settings.cluster_secret
        self._secret = None if secret is None else secret.get_secret_value().encode()
        self._failed_logins = LoginThrottle(settings.failed_logins_per_minute)
        self._allowances = RateLimiter(settings.requests_per_second, settings.requests_burst, settings.requests_at_once)
        self._hosts = {_allowed_name(host) for host in settings.allowed_hosts}
        if settings.host not in ANY_ADDRESS:
            self._hosts.add(settings.host.strip("[]"))

    def check(self, scope: Scope, *, count_failure: bool = True) -> Admission:
        """Return how a request is admitted, and record in its scope what is decided; ApiError if it is refused.

        With `count_failure` a wrong key counts against its address. Nothing is counted against the key yet.
        """
        _check_size(scope, self._settings)
        _check_framing(scope)
        record_decision(scope, AuthDecision(None, admitted=False))
        forwarded = read_forwarded(scope, self._secret)
        if forwarded is not None:
            return _admit_forwarded(scope, forwarded)
        self._check_host(scope)
        self._check_origin(scope)
        needed = scope_needed(scope["method"], scope["path"])
        if needed is None and scope["path"] == READINESS and _sent_key(scope) is not None:
            needed = KeyScope.READ
        if needed is None or not self._ring.closed:
            return Admission(is_anonymous=self._ring.closed)
        caller = self._caller(scope, count_failure=count_failure)
        record_decision(scope, AuthDecision(caller, admitted=False))
        if needed not in caller.scopes:
            raise Forbidden(f"this needs a key with the scope {needed}; ask for one", code="scope_missing")
        return Admission(caller, caller.tenant, counted_key=caller.key_id)

    def counted(self, admission: Admission) -> AbstractContextManager[None]:
        """Count the request for the length of a block; RateLimited or TooManyAtOnce if its key has no more left."""
        key_id = admission.counted_key
        return nullcontext() if key_id is None else self._allowances.taken(key_id)

    def _caller(self, scope: Scope, *, count_failure: bool) -> Caller:
        """Return whose key was sent; Unauthorized if it is nobody's, TooManyFailedLogins after too many of these."""
        sent = _sent_key(scope)
        if sent is None:
            raise Unauthorized("send the key as Authorization: Bearer <key>, or as X-API-Key")
        try:
            return self._ring.caller(sent)
        except Unauthorized:
            if count_failure:
                self._failed_logins.note((scope.get("client") or ("",))[0])
            raise

    def _check_host(self, scope: Scope) -> None:
        if _host_name(header(scope, b"host") or "") not in self._hosts:
            raise Forbidden(
                "this server does not answer to this Host; use localhost, or add the name to ADJOINT_ALLOWED_HOSTS",
                code="host_not_allowed",
            )

    def _check_origin(self, scope: Scope) -> None:
        if scope["method"] in SAFE_METHODS:
            return
        origin, host = header(scope, b"origin"), header(scope, b"host") or ""
        foreign = origin is not None and origin.partition("://")[2].lower() != host.lower()
        if foreign or (header(scope, b"sec-fetch-site") or "none") not in OWN_SITES:
            raise Forbidden("web pages of other sites may not change anything here", code="origin_not_allowed")


class AuthenticationMiddleware:
    """Refuses requests before anything else looks at them."""

    def __init__(self, app: ASGIApp, access: AccessControl) -> None:
        """Pass on to `app` what `access` admits."""
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with ExitStack() as held:
            answer = self._app
            try:
                admission = self._access.check(scope)
                held.enter_context(self._access.counted(admission))
                held.enter_context(admission.acting(scope))
            except ApiError as error:
                answer = problem(Request(scope), error)
            await answer(scope, receive, send)


def _admit_forwarded(scope: Scope, forwarded: ForwardedCaller) -> Admission:
    """Admit a request that another server has checked."""
    caller = forwarded.caller
    if forwarded.address is not None:
        scope["client"] = (forwarded.address, 0)
    return Admission(caller, DEFAULT_TENANT if caller is None else caller.tenant)


def _check_size(scope: Scope, most: Settings) -> None:
    # The HTTP parser limits only what it has to wait for: headers that arrive at once pass it at any size.
    if len(scope["raw_path"]) + len(scope["query_string"]) > most.max_uri_bytes:
        raise UriTooLong(f"path and query are longer than {most.max_uri_bytes} bytes")
    headers, count, size = scope["headers"], most.max_headers, most.max_header_bytes
    if len(headers) > count or sum(len(name) + len(value) for name, value in headers) > size:
        raise HeadersTooLarge(f"more than {count} headers, or {size} bytes of them")


def _sent_key(scope: Scope) -> bytes | None:
    scheme, _, credentials = (header(scope, b"authorization") or "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip().encode("latin-1")
    key = header(scope, b"x-api-key")
    return None if key is None else key.encode("latin-1")


def _check_framing(scope: Scope) -> None:
    if scope["http_version"] not in VERSIONS:
        raise Unparsable("this server speaks HTTP/1.1", headers={"Connection": "close"})
    # A proxy may go by the one and this server by the other: two requests to one of them are one to the other.
    if header(scope, b"transfer-encoding") is not None and header(scope, b"content-length") is not None:
        detail = "Content-Length and Transfer-Encoding contradict each other; send one of them"
        raise Unparsable(detail, headers={"Connection": "close"})


def _host_name(host: str) -> str:
    """Return a Host without port and brackets; an empty string if it is not of that form."""
    match = _HOST.fullmatch(host.lower())
    return "" if match is None else match[1] or match[2]


def _allowed_name(host: str) -> str:
    """Return the name in a setting, where an IPv6 address may stand without brackets."""
    return host.lower() if host.count(":") > 1 and not host.startswith("[") else _host_name(host)
