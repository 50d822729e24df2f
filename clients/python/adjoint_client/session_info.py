"""What the server says of a session."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

SessionState = Literal["active", "paused", "closed", "expired", "failed"]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as it was when the server said so.

    Attributes:
        id: `sess_...`.
        kind: "training" for the verbs of a training loop.
        state: whether it can be gone on with: "active" or "paused"; or how it ended.
        graph: the id of its graph.
        dataset: the id of the dataset that rows are taken of by default.
        labels: what it was labelled with.
        next_seq: the place of the next step; None if no process has told.
        step: how many steps the optimizer has taken; None likewise.
        expires_at: when it ends unless it is used, as an RFC 3339 text.
        checkpoint: the id of the checkpoint that was made when it expired.
        error: what made it fail.
        document: all of it, as JSON has it.
    """

    id: str
    kind: str
    state: SessionState
    graph: str
    dataset: str | None
    labels: dict[str, str]
    next_seq: int | None
    step: int | None
    expires_at: str | None
    checkpoint: str | None
    error: dict[str, Any] | None
    document: dict[str, Any]

    @classmethod
    def from_wire(cls, document: Mapping[str, Any]) -> Self:
        """Read a session as the server writes it."""
        return cls(
            id=document["id"],
            kind=document["kind"],
            state=document["state"],
            graph=document["graph"],
            dataset=document.get("dataset"),
            labels=document.get("labels") or {},
            next_seq=document.get("next_seq"),
            step=document.get("step"),
            expires_at=document.get("expires_at"),
            checkpoint=document.get("checkpoint"),
            error=document.get("error"),
            document=dict(document),
        )
