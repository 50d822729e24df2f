"""Sessions: the caller drives the training loop."""

from engine.session.results import Forward, Gradients, Stepped, Tape, Updated
from engine.session.session import Session

__all__ = ["Forward", "Gradients", "Session", "Stepped", "Tape", "Updated"]
