"""A session of kind training: the training loop in the client's hands."""

from adjoint_client import steps
from adjoint_client._async.checkpoint import AsyncCheckpointHandle
from adjoint_client._async.held_session import AsyncHeldSession, carries_out
from adjoint_client._async.pipeline import AsyncPipeline


class AsyncSession(AsyncHeldSession):
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

    def pipeline(self) -> AsyncPipeline:
        """Return a block in which steps are submitted without waiting: see `AsyncPipeline`.

        Raises:
            RuntimeError: such a block of this session is open.
        """
        if self._pipeline is not None and self._pipeline.open:
            raise RuntimeError("a pipeline of this session is open; leave its block first, so that steps have an order")
        self._pipeline = AsyncPipeline(self._stepper)
        return self._pipeline

    async def load(self, checkpoint: str | AsyncCheckpointHandle, *, optimizer: bool = True) -> int:
        """Go on from a checkpoint, of this session or another; return the steps that the optimizer had taken.

        Without `optimizer` only parameters and buffers are taken over, and the optimizer starts from its initial state.
        """
        named = checkpoint if isinstance(checkpoint, str) else checkpoint.id
        return await self.carry_out(steps.load(named, optimizer=optimizer))
