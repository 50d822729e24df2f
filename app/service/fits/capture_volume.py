"""How much the captured gradients of a fit will take on the disk, asked before it is accepted."""

import engine
from app.domain.errors import Finding, TooLarge

FILE_BYTES = 4096
"""What a file takes beside its numbers: its header, and the rest of its last block."""


def check_captures(
    definition: engine.Definition, recipe: engine.Recipe, estimate: engine.FitEstimate, limit: int
) -> None:
    """TooLarge if the gradients that the recipe captures take more than `limit` bytes."""
    record = recipe.record.gradients
    if record is None:
        return
    steps = record.count(estimate.total_steps)
    files = len(record.names(name for name, spec in definition.parameters.items() if not spec.frozen))
    numbers = estimate.memory.get("captured_bytes", 0)
    needed = steps * (numbers + files * FILE_BYTES)
    if needed > limit:
        detail = (
            f"the gradients of {steps} steps, each of {files} parameters with {numbers} bytes together and "
            f"{FILE_BYTES} for each file, take {needed} bytes; this server keeps {limit} of a fit; name fewer steps or "
            "parameters"
        )
        finding = Finding("/record/gradients", "gradients_exceeded", detail)
        raise TooLarge(detail, limit=limit, code="gradients_exceeded", findings=[finding])
