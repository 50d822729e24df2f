"""What a fit tells its watchers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

EventKind = Literal["metric", "state", "checkpoint", "log", "end"]


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a fit's journal, numbered without gaps from 1 by `seq`.

    `body` is JSON text, sent to clients as it is. `metric_seq` numbers the metric rows alone, also without gaps from 1.
    """

    fit_id: str
    seq: int
    kind: EventKind
    body: str
    metric_seq: int | None
    created_at: datetime
