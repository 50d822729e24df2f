# Made from _async/session.py by clients/generate.py: change that file.
"""A session of kind training: the training loop in the client's hands."""

from adjoint_client import steps
from adjoint_client._sync.checkpoint import CheckpointHandle
from adjoint_client._sync.held_session import HeldSession, carries_out
from adjoint_client._sync.pipeline import Pipeline


class Session(HeldSession):
    """A model in training on the server, whose steps the caller takes; `info` is the latest answer about it.

    Gradients add up until `optim_step`. As a context it is closed in the end, unless it was opened to be kept.
    """

    forward = carries_out(steps.forward)
    backward = carries_out(steps.backward)
    forward_backward = carries_out(steps.forward_backward)
    optim_step = carries_out(steps.optim_step)
    zero_grad = carries_out(steps.zero_grad)
    reset = carries_out(steps.reset)
    set = carries_out(steps.set_parameters)
    predict = carries_out(steps.predict)
    row_losses = carries_out(steps.row_losses)
    trace_nonfinite = carries_out(steps.trace_nonfinite)
    profile = carries_out(steps.profile)

    def pipeline(self) -> Pipeline:
        """Return a block in which steps are submitted without waiting: see `Pipeline`.

        Raises:
            RuntimeError: such a block of this session is open.
        """
        if self._pipeline is not None and self._pipeline.open:
            raise RuntimeError("a pipeline of this session is open; leave its block first, so that steps have an order")
        self._pipeline = Pipeline(self._stepper)
        return self._pipeline

    def load(self, checkpoint: str | CheckpointHandle, *, optimizer: bool = True) -> int:
        """Go on from a checkpoint, of this session or another; return the steps that the optimizer had taken.

        Without `optimizer` only parameters and buffers are taken over, and the optimizer starts from its initial state.
        """
        named = checkpoint if isinstance(checkpoint, str) else checkpoint.id
        return self.carry_out(steps.load(named, optimizer=optimizer))
