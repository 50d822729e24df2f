"""The one shape of every error (RFC 9457)."""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain.errors import Finding

CONTENT_TYPE = "application/problem+json"


class ProblemError(BaseModel):
    """One fault in a request."""

    model_config = ConfigDict(frozen=True)

    pointer: str = Field(description="JSON pointer into the request; empty for the whole of it.")
    code: str
    detail: str

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> "list[ProblemError]":
        """Show what was found."""
        return [cls(pointer=each.pointer, code=each.code, detail=each.detail) for each in findings]


class Problem(BaseModel):
    """What went wrong, and what to change."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str = Field(description="Stable, for programs to decide by.")
    request_id: str
    errors: list[ProblemError]
    limit: int | None = Field(default=None, description="The limit that was exceeded, for 413.")
    expected_seq: int | None = Field(default=None, description="The seq of the session's next step, for a step.")


class Status(BaseModel):
    """An answer that says no more than that there is one."""

    model_config = ConfigDict(frozen=True)

    status: Literal["ok", "ready"]
