"""Sessions: the caller drives the training loop."""

from engine.session.results import Forward, Gradients, PassResult, Tape, UpdateResult
from engine.session.session import Session

__all__ = ["Forward", "Gradients", "PassResult", "Session", "Tape", "UpdateResult"]
