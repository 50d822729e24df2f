"""API keys and audit entries."""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.fit_request import Deadline
from app.api.schemas.values import Moment, RequestShape, ResourceShape
from app.domain.access import TENANT_PATTERN, ApiKeyRecord
from app.domain.audit import AuditRecord
from app.store.column_types import values_of
from app.store.pages import Page

ScopeName = Literal["read", "train", "admin"]
SCOPES = "What it may be used for: read (GET), train (everything else), admin (keys, the audit trail, backups)."
INCLUDES = "train includes read, admin both."


class KeyRequest(RequestShape):
    """A key to make."""

    name: str = Field(min_length=1, max_length=128, description="For whom, or for what.")
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=3)] = Field(description=f"{SCOPES} {INCLUDES}")
    expires_at: Deadline | None = Field(
        default=None, description="When it ends: RFC 3339, with the offset from UTC; by default never."
    )
    tenant: str | None = Field(
        default=None,
        pattern=TENANT_PATTERN,
        description="Whose graphs, datasets, fits, checkpoints and sessions it is for; by default those of whoever "
        "makes it.",
    )


class ApiKey(ResourceShape):
    """A key, without its secret, which nobody can tell any more."""

    id: str
    object: Literal["key"] = "key"
    tenant: str = Field(description="Whose things it is for: it gives no sight of those of others.")
    name: str
    scopes: list[ScopeName] = Field(description=f"{SCOPES} {INCLUDES}")
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None
    used_at: Moment | None = Field(description="When it was last used, to about a minute.")

    @classmethod
    def of(cls, key: ApiKeyRecord) -> "ApiKey":
        """Show a key."""
        return cls(**_shown(key))


class NewApiKey(ApiKey):
    """A key that was made just now."""

    key: str = Field(description="What clients send. It is told this once, and not kept.")
    closed_server: bool = Field(
        description="Whether this is the first key, which closed the server: from now on every request needs one."
    )

    @classmethod
    def made(cls, key: ApiKeyRecord, text: str, *, closed_server: bool) -> "NewApiKey":
        """Show a new key."""
        return cls(**_shown(key), key=text, closed_server=closed_server)


class ApiKeyList(ResourceShape):
    """A page of keys."""

    object: Literal["list"] = "list"
    data: list[ApiKey]
    has_more: bool
    next_cursor: str | None

    @classmethod
    def of(cls, page: Page[ApiKeyRecord]) -> "ApiKeyList":
        """Show a page of keys."""
        return cls(
            data=[ApiKey.of(key) for key in page.items],
            has_more=page.next_cursor is not None,
            next_cursor=page.next_cursor,
        )


def _shown(key: ApiKeyRecord) -> dict[str, Any]:
    fields = values_of(key)
    fields.pop("digest")
    return fields


class AuditEntry(ResourceShape):
    """A requested change and its outcome."""

    seq: int = Field(description="Its place in the trail: 1, 2, 3 ...")
    at: Moment
    key_id: str | None = Field(description="Whose key; setting: ADJOINT_API_KEY; offline: a command; null: none.")
    action: str = Field(description="The operation; the method, where the request was refused before one was found.")
    object: str = Field(description="The path of what it was done to, or of what was made.")
    result: str = Field(description="The status of the answer; done for what a command did offline.")
    request_id: str
    address: str = Field(description="Where the request came from.")
    previous: str = Field(description="The hash of the entry before it.")
    hash: str = Field(description="SHA-256 of the other fields as a JSON array in this order, without spaces.")

    @classmethod
    def of(cls, entry: AuditRecord) -> "AuditEntry":
        """Show an entry."""
        return cls(**values_of(entry))


class AuditList(ResourceShape):
    """A page of the trail."""

    object: Literal["list"] = "list"
    data: list[AuditEntry]
    has_more: bool
    next_cursor: str | None

    @classmethod
    def of(cls, page: Page[AuditRecord]) -> "AuditList":
        """Show a page of the trail."""
        return cls(
            data=[AuditEntry.of(entry) for entry in page.items],
            has_more=page.next_cursor is not None,
            next_cursor=page.next_cursor,
        )
