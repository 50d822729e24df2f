"""Sessions: the training loop in the caller's hands."""

from engine.session.results import Forward, Gradients, Stepped, Tape, Updated
from engine.session.session import Session

__all__ = ["Forward", "Gradients", "Session", "Stepped", "Tape", "Updated"]
