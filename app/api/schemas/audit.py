"""The audit trail on the wire."""

from typing import Literal

from pydantic import Field

from app.api.schemas.shapes import Moment, ResourceShape
from app.domain.audit import AuditRecord
from app.store.pages import Page
from app.store.rows import values_of


class AuditEntry(ResourceShape):
    """A change that was asked for, and what came of it."""

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
