"""API keys and audit entries."""

from typing import Annotated, Literal, Self

from pydantic import Field

from app.api.schemas.fit_request import Deadline
from app.api.schemas.values import Moment, PageShape, RequestShape, ResourceShape
from app.domain.access import TENANT_PATTERN, ApiKeyRecord

ScopeName = Literal["read", "train", "admin"]
SCOPES = "Scopes of the key: read (GET), train (all other methods), admin (keys, the audit trail, backups)."
INCLUDES = "train includes read; admin includes both."


class KeyRequest(RequestShape):
    """A key to create."""

    name: str = Field(min_length=1, max_length=128, description="Name of the key, such as its user or purpose.")
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=3)] = Field(description=f"{SCOPES} {INCLUDES}")
    expires_at: Deadline | None = Field(
        default=None, description="When it ends: RFC 3339, with the offset from UTC; by default never."
    )
    tenant: str | None = Field(
        default=None,
        pattern=TENANT_PATTERN,
        description="Tenant whose resources the key gives access to; by default that of the key that creates it.",
    )


class ApiKey(ResourceShape):
    """An API key without its secret, which is not stored."""

    id: str
    object: Literal["key"] = "key"
    tenant: str = Field(description="Tenant whose resources the key gives access to.")
    name: str
    scopes: list[ScopeName] = Field(description=f"{SCOPES} {INCLUDES}")
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None
    used_at: Moment | None = Field(description="Time of the last use, to about a minute, RFC 3339 in UTC.")


class NewApiKey(ApiKey):
    """A new API key with its secret."""

    key: str = Field(description="The secret, which clients send. It is returned once and not stored.")
    closed_server: bool = Field(description="Whether this is the first key: from now on every request needs one.")

    @classmethod
    def made(cls, key: ApiKeyRecord, text: str, *, closed_server: bool) -> Self:
        """Build from the record of a key that was just created."""
        return cls.from_record(key, key=text, closed_server=closed_server)


class ApiKeyList(PageShape[ApiKey]):
    """A page of keys."""


class AuditEntry(ResourceShape):
    """A requested change and its outcome."""

    seq: int = Field(description="Number of the entry, from 1 without gaps.")
    at: Moment
    key_id: str | None = Field(
        description="Id of the key; `setting`: ADJOINT_API_KEY; `offline`: a command; null: no key."
    )
    action: str = Field(description="Operation; the HTTP method if the request was refused before routing.")
    object: str = Field(description="Path of the resource that was changed or created.")
    result: str = Field(description="HTTP status of the response; `done` for an offline command.")
    request_id: str
    address: str = Field(description="Address of the client.")
    previous: str = Field(description="The hash of the entry before it.")
    hash: str = Field(description="SHA-256 of the other fields as a JSON array in this order, without spaces.")


class AuditList(PageShape[AuditEntry]):
    """A page of the trail."""
