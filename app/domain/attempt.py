"""One process working on a fit."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Attempt:
    """The `number`-th process (from 1) started for a fit.

    `token` is its fencing token: what it reports counts only while it is the fit's latest, unended attempt.
    `outcome` says how it ended, such as `succeeded`, `drained` or `died`.
    """

    fit_id: str
    number: int
    token: str
    pid: int | None
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
