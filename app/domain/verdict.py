"""How an attempt at a fit ends."""

from dataclasses import dataclass

from app.domain.messages import Failed, Finished


@dataclass(frozen=True, slots=True)
class Died:
    """The process is gone and gave no verdict. `reason` is a word, `detail` a sentence."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Expired:
    """The process was stopped, with a checkpoint if it could, since the fit has come to the limit `code`."""

    code: str
    detail: str


Verdict = Finished | Failed | Died | Expired
