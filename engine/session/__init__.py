"""Sessions: the training loop in the caller's hands."""

from engine.session.profiling import Timing
from engine.session.results import Forward, Gradients, Stepped, Updated
from engine.session.session import Session
from engine.session.tape import Tape
from engine.session.tracing import Nonfinite

__all__ = ["Forward", "Gradients", "Nonfinite", "Session", "Stepped", "Tape", "Timing", "Updated"]
