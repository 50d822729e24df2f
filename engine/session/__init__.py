"""Sessions: the training loop in the caller's hands."""

from engine.session.results import Forward, Gradients, Stepped, Updated
from engine.session.session import Session
from engine.session.tape import Tape

__all__ = ["Forward", "Gradients", "Session", "Stepped", "Tape", "Updated"]
