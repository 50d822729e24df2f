"""The client's address behind a reverse proxy: failed logins and the audit trail go by it.

A header that anybody can send proves nothing: X-Forwarded-For is read only where the peer is a proxy that the operator
trusts, and only as far as proxies have written it. No other header of this sort is believed.
"""

import ipaddress
from collections.abc import Iterable, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HEADER = b"x-forwarded-for"
HOPS_MAX = 16
"""More proxies in a row than anybody has; what is left of the list is not looked at."""

ADDRESS_CHARACTERS_MAX = 45


class ClientAddressMiddleware:
    """Puts the address of the client in the place of its proxy's, for everything inside."""

    def __init__(self, app: ASGIApp, proxies: Sequence[str]) -> None:
        """Believe those of `proxies`, addresses or networks."""
        self._app = app
        self._proxies = tuple(map(ipaddress.ip_network, proxies))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._proxies and scope["type"] == "http" and scope.get("client"):
            peer, _ = scope["client"]
            scope["client"] = (client_address(peer, scope["headers"], self._proxies), 0)
        await self._app(scope, receive, send)


def client_address(peer: str, headers: Iterable[tuple[bytes, bytes]], proxies: Sequence[Network]) -> str:
    """Return the rightmost address in X-Forwarded-For that is none of `proxies`, if `peer` is one of them.

    Else, or if what stands there is no address, or all are proxies, it is `peer`.
    """
    if not _is_one_of(_address(peer), proxies):
        return peer
    listed = b",".join(value for name, value in headers if name == HEADER).decode("latin-1")
    for entry in reversed(listed.rsplit(",", HOPS_MAX)[-HOPS_MAX:]):
        address = _address(entry.strip(" \t"))
        if address is None:
            break
        if not _is_one_of(address, proxies):
            return str(address)
    return peer


def _address(text: str) -> Address | None:
    """Return the address that a text holds, and nothing beside it: no port, brackets, zone or name."""
    if len(text) > ADDRESS_CHARACTERS_MAX or "%" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None) or address


def _is_one_of(address: Address | None, proxies: Sequence[Network]) -> bool:
    return address is not None and any(address in network for network in proxies)


IPV6_NETWORK_BITS = 64
"""Of an IPv6 address: one client has the rest to itself."""


def network_of(address: str) -> str:
    """Return what an address is counted by: itself, or the network of an IPv6 address."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Network((int(found), IPV6_NETWORK_BITS), strict=False))
