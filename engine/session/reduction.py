"""How the loss of a batch is made of its rows, whatever the graph itself says."""

from __future__ import annotations

from typing import Literal

from engine.core.errors import DocumentError, Finding
from engine.graph.definition import Definition
from engine.session.batch import Batch
from engine.training.step.reduction import Reduction

Wanted = Literal["mean", "sum"]


def check_request(definition: Definition, reduction: object, size: object, *, outputs: bool) -> None:
    """Check what a forward and backward pass is asked for: the reduction, rows at a time, and whether outputs too.

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
    """Return by which reduction rows have to be added up; None where the graph's own loss is what is wanted.

    A batch in parts is never what the graph sees, and "sum" always goes by rows, so that the parts of a batch, given
    one call each, come to the same bits.

    Args:
        natural: how the loss of the graph sums up its rows, None for any other way.
        wanted: what the caller asks for, if anything.
        parted: whether the batch is computed in parts.

    Raises:
        DocumentError: the loss of the graph cannot be had so.
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
    """Return what the sum over the rows of a batch is multiplied by."""
    return 1.0 / max(batch.rows, 1) if way == "mean" else 1.0


def _refusal(detail: str) -> DocumentError:
    return DocumentError([Finding("/reduction", "attribute_invalid", detail)])
