"""Reduction of the losses of rows to the loss of a batch."""

from __future__ import annotations

from typing import Literal

from engine.core.errors import DocumentError, Finding
from engine.graph.definition import Definition
from engine.session.batch import Batch
from engine.training.step.reduction import Reduction

Wanted = Literal["mean", "sum"]


def check_request(definition: Definition, reduction: object, size: object, *, outputs: bool) -> None:
    """Check the options of a forward and backward pass: reduction, micro-batch size, outputs.

    Raises:
        DocumentError: with a pointer to each fault.
    """
    findings = []
    if not definition.losses:
        detail = "the graph has no loss; call forward(keep=True), then backward with cotangents"
        findings.append(Finding("", "no_losses", detail))
    if reduction not in (None, "mean", "sum"):
        detail = f"reduction must be 'mean' or 'sum', not {str(reduction)[:64]!r}"
        findings.append(Finding("/reduction", "attribute_invalid", detail))
    if size is not None and (type(size) is not int or size < 1):
        detail = f"micro_batch_size must be an integer of at least 1, not {str(size)[:64]}"
        findings.append(Finding("/micro_batch_size", "out_of_range", detail))
    elif size is not None and outputs:
        detail = "outputs are those of a whole batch; leave out micro_batch_size, or call predict"
        findings.append(Finding("/outputs", "conflict", detail))
    if findings:
        raise DocumentError(findings)


def choose_reduction(natural: Reduction | None, wanted: Wanted | None, *, parted: bool) -> Wanted | None:
    """Return the reduction over rows; None if the loss of the graph itself is used.

    The loss of the graph itself cannot be used for a batch in parts. "sum" always adds the losses of rows, so that
    one call for each part gives the same bits as one call for the batch.

    Args:
        natural: the reduction over rows of the graph's own loss; None if it has another form.
        wanted: the reduction that the caller requests, or None.
        parted: whether the batch is computed in parts.

    Raises:
        DocumentError: the loss of the graph does not allow this reduction.
    """
    if wanted is None and not parted:
        return None
    if natural is None:
        detail = "the loss of this graph neither adds nor averages the losses of rows"
        raise _refusal(f"{detail}: leave out 'reduction', and compute the batch at once")
    wanted = wanted or ("sum" if natural == "sum" else "mean")
    if wanted == "mean" and natural != "sum" and not parted:
        return None
    if wanted == "mean" and natural == "weighted":
        detail = "a mean over the weights of targets is no sum over parts of a batch"
        raise _refusal(f"{detail}: take the reduction 'sum', or compute the batch at once")
    return wanted


def loss_scale(way: Wanted | None, batch: Batch) -> float:
    """Return the factor of the sum over the rows of a batch."""
    return 1.0 / max(batch.rows, 1) if way == "mean" else 1.0


def _refusal(detail: str) -> DocumentError:
    return DocumentError([Finding("/reduction", "attribute_invalid", detail)])
