"""API keys and audit entries."""

from typing import Annotated, Literal, Self

from pydantic import Field

from app.api.schemas.fit_request import Deadline
from app.api.schemas.values import Moment, PageShape, RequestShape, ResourceShape
from app.domain.access import TENANT_PATTERN, ApiKeyRecord

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


class NewApiKey(ApiKey):
    """A key that was made just now."""

    key: str = Field(description="What clients send. It is told this once, and not kept.")
    closed_server: bool = Field(
        description="Whether this is the first key, which closed the server: from now on every request needs one."
    )

    @classmethod
    def made(cls, key: ApiKeyRecord, text: str, *, closed_server: bool) -> Self:
        """Build from the record of a key that was just created."""
        return cls.from_record(key, key=text, closed_server=closed_server)


class ApiKeyList(PageShape[ApiKey]):
    """A page of keys."""


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


class AuditList(PageShape[AuditEntry]):
    """A page of the trail."""
