"""Content-Digest (RFC 9530): what a client says its body hashes to, and what we say ours does."""

import base64
import binascii
import re

from app.domain.errors import Finding, Invalid

_ENTRY = re.compile(r"\s*([a-z0-9*_.\-]+)=:([A-Za-z0-9+/=]*):\s*")
ALGORITHM = "sha-256"


def format_digest(hexadecimal: str) -> str:
    """Format a SHA-256 as the value of a Content-Digest header."""
    return f"{ALGORITHM}=:{base64.b64encode(bytes.fromhex(hexadecimal)).decode()}:"


def stated_digest(header: str | None) -> str | None:
    """Return the SHA-256 that a header states, in hexadecimal; None if it states none. Invalid if it is malformed."""
    if header is None:
        return None
    for entry in header.split(","):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise _invalid("Content-Digest is malformed; write it as sha-256=:<base64>:")
        if match[1] == ALGORITHM:
            return _hexadecimal(match[2])
    return None


def check_digest(stated: str | None, digest: str) -> None:
    """Invalid if the client stated another digest than that of what arrived."""
    if stated is not None and stated != digest:
        raise _invalid("the bytes that arrived do not hash to what Content-Digest says; send them again")


def _hexadecimal(encoded: str) -> str:
    try:
        raw = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != 32:
        raise _invalid("Content-Digest is malformed: a sha-256 is 32 bytes in base64")
    return raw.hex()


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, code="content_digest", findings=[Finding("", "content_digest", detail)])
