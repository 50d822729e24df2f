"""Loss of a stack of layers: find its operands, check its options, append its nodes.

A loss beside its op takes `sample_weight`, the name of an input that holds one weight for each row: the fitted loss is
then sum(weight * loss) / sum(weight), or with reduction "sum" sum(weight * loss). With `per_example` the losses of the
rows are an output of the graph, loss.per_example; reduction "none" is the same, and what is fitted is their mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from engine.core.dtypes import FLOAT32, is_float
from engine.core.errors import (
    AttributeValueError,
    DocumentError,
    Finding,
    UnsupportedOp,
    accepted_names,
    escape,
    nearest,
)
from engine.core.losses import Loss, LossOperand
from engine.core.options import Reader
from engine.core.registry import Op, find_op
from engine.core.unsupported_ops import refuse_unsupported
from engine.core.value import Array, Value
from engine.graph.tensors import read_tensor
from engine.nn.layers.losses import PER_ROW_OPTIONS, has_row_losses, loss_declarations

FACTORS = ("weight", "pos_weight")
"""Operands that multiply losses."""


GGML_LOSSES = {
    "MEAN_SQUARED_ERROR": "mse_loss", "CROSS_ENTROPY": "ggml_cross_entropy", "MEAN": "mean", "SUM": "sum",
}  # fmt: skip
"""The losses of ggml's optimizer (GGML_OPT_LOSS_TYPE_*), and the ops that stand for them."""

REDUCTIONS = {name: f"write a program that ends in loss = {name}(...)" for name in ("mean", "sum")}


class LayerStack(Protocol):
    """The layers that a loss is appended to."""

    def others(self) -> tuple[str, ...]:
        """Return the inputs but the first, which flows through the layers."""

    def unused(self) -> tuple[str, ...]:
        """Return the inputs that no layer takes."""

    def find(self, name: str) -> Value | None:
        """Return the value of the graph that has this name."""

    def constant(self, name: str, array: Array) -> Value:
        """Declare a constant."""

    def apply(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        """Apply an op."""

    def shape_of(self, value: Value) -> list[int | str]:
        """Return the shape of a value, with the names of extents."""


def append_loss(document: Any, x: Value, stack: LayerStack) -> tuple[Value, ...]:
    """Add the loss that `document` describes to the stack whose output is x; returns the outputs it adds.

    The node that holds the loss itself has no name within the stack's scope.

    Raises:
        DocumentError: each fault with its pointer below /loss.
    """
    reader = Reader()
    document = {"kind": document} if isinstance(document, str) else reader.mapping(document, "/loss")
    kind = ""
    if "kind" in document:
        kind = reader.typed(document["kind"], str, "/loss/kind", "kind", "")
    elif not reader.findings:
        reader.fault("/loss", "missing_field", "the field 'kind' is required: the kind of the loss")
    reader.finish()
    op, loss = _find_loss(kind)
    return _LossBuilder(op, loss, document, x, stack).build()


def _find_loss(kind: str) -> tuple[Op[Any], Loss]:
    """Return the op of a loss and its declaration.

    Raises:
        DocumentError: there is no such loss; the message lists them.
    """
    try:
        refuse_unsupported(kind)
    except UnsupportedOp as error:
        raise DocumentError([Finding("/loss/kind", error.code, str(error))]) from error
    op = find_op(kind)
    if op is None or op.loss is None:
        known = loss_declarations()
        asked = GGML_LOSSES.get(kind.upper().removeprefix("GGML_OPT_LOSS_TYPE_"), kind)
        if asked in REDUCTIONS:
            hint = f"; {REDUCTIONS[asked]}; losses are {', '.join(known)}"
        else:
            hint = accepted_names(asked, known, "GET /v1/losses")
        detail = f"there is no loss called {kind[:64]!r}{hint}"
        code = "unknown_name" if op is None else AttributeValueError.code
        raise DocumentError([Finding("/loss/kind", code, detail)])
    return op, op.loss


class _LossBuilder:
    """One loss under construction."""

    def __init__(self, op: Op[Any], loss: Loss, document: Mapping[str, Any], x: Value, stack: LayerStack) -> None:
        self.op, self.loss, self.document, self.x, self.stack = op, loss, document, x, stack
        self.reader = Reader()
        self.attrs: dict[str, Any] = {}
        self.operands: dict[str, Value | None] = {}

    def build(self) -> tuple[Value, ...]:
        """Check everything, add the nodes and return the outputs beside the loss."""
        options = PER_ROW_OPTIONS if has_row_losses(self.op) else ()
        self._read_attributes(("split",) * bool(self.loss.parts) + options)
        split = self._option("split", int | None, None)
        sample_weight = self._option("sample_weight", str | None, None)
        per_example = self._option("per_example", bool, False)
        self._find_operands(() if split is None else self.loss.parts)
        weights = None if sample_weight is None else self._find_value("sample_weight", sample_weight)
        self.reader.finish()
        if split is not None:
            self._split(split)
        self._check_factors()
        self._check_paired()
        self._arrange()
        if weights is None and not per_example and self.attrs.get("reduction") != "none":
            self._apply(self.attrs)
            return ()
        return self._reduce_rows(weights, wanted=per_example or self.attrs.get("reduction") == "none")

    def _read_attributes(self, options: tuple[str, ...]) -> None:
        """Check the options that are attributes of the op; what is no option at all is a fault."""
        others = (*(operand.name for operand in self.loss.operands), *options)
        for name, value in self.document.items():
            pointer = f"/loss/{escape(name)}"
            attribute = self.op.attributes.get(name)
            if attribute is not None:
                self.attrs[name] = self.reader.attribute(value, attribute, pointer, self.op.name)
            elif name not in ("kind", *others):
                known = (*self.op.attributes, *others)
                detail = f"{self.op.name} has no option {str(name)[:64]!r} (it has: {', '.join(known)})"
                self.reader.fault(pointer, "attribute_invalid", detail + nearest(str(name), known))

    def _option(self, name: str, type_: Any, default: Any) -> Any:
        return self.reader.typed(self.document.get(name, default), type_, f"/loss/{name}", name, default)

    def _find_operands(self, cut: tuple[str, ...]) -> None:
        for operand in self.loss.operands:
            name, given = operand.name, self.document.get(operand.name)
            if name in cut:
                if given is not None:
                    detail = f"{name} is cut out of the predictions by `split`: leave one of the two out"
                    self.reader.fault(f"/loss/{name}", "attribute_invalid", detail)
            elif name == "target" and name not in self.document:
                self.operands[name] = self._default_target()
            elif given is None and not operand.required:
                self.operands[name] = None
            elif operand.takes == "numbers" and given is not None and not isinstance(given, str):
                self.operands[name] = self._make_constant(operand, given)
            else:
                self.operands[name] = self._find_value(name, given)

    def _default_target(self) -> Value | None:
        """Return the only other input, or the only one that nothing else takes."""
        taken = {value for value in self.document.values() if isinstance(value, str)}
        for inputs in (self.stack.others(), self.stack.unused()):
            free = [name for name in inputs if name not in taken]
            if len(free) == 1:
                return self.stack.find(free[0])
        return self._find_value("target", None)

    def _find_value(self, option: str, name: Any) -> Value | None:
        """Return the value called `name`; an error lists the inputs that exist."""
        found = self.stack.find(name) if isinstance(name, str) else None
        if found is None:
            inputs = self.stack.others()
            operand = next((o for o in self.loss.operands if o.name == option), None)
            wanted = "one number for each row" if operand is None else operand.shape
            hint = nearest(name, inputs) if isinstance(name, str) else ""
            numbers = "give numbers, or " if operand is not None and operand.takes == "numbers" else ""
            known = ", ".join(inputs) or "(there is no second input)"
            detail = f"{numbers}name the input that holds the {option} ({wanted}): one of {known}"
            if isinstance(name, str):
                detail = f"there is no input called {name[:64]!r}: {detail}"
            self.reader.fault(f"/loss/{option}", "unknown_name", detail + hint)
        return found

    def _make_constant(self, operand: LossOperand, given: Any) -> Value | None:
        """Turn numbers in the document into a constant."""
        faults = len(self.reader.findings)
        array = read_tensor(given, f"/loss/{operand.name}", self.reader, FLOAT32)
        return self.stack.constant(operand.name, array) if len(self.reader.findings) == faults else None

    def _split(self, axis: int) -> None:
        """Cut the predictions into equal parts: what the op takes first, and the operands that are not named."""
        x, count = self.x, 1 + len(self.loss.parts)
        if not -x.ndim <= axis < x.ndim or axis % x.ndim == 0 or x.shape[axis] % count or not x.shape[axis]:
            detail = (
                f"split {axis} must be an axis of the predictions {list(x.shape)} behind the rows, whose extent is a "
                f"multiple of {count}: one part each for the predictions and {', '.join(self.loss.parts)}"
            )
            raise DocumentError([Finding("/loss/split", "shape_mismatch", detail)])
        place, each = axis % x.ndim, x.shape[axis] // count
        target = self.operands.get("target")
        drop = each == 1 and (target is None or target.ndim < x.ndim)
        parts = []
        for number, name in enumerate(("predictions", *self.loss.parts)):
            inner = f"{name}.part" if drop else name
            part = self._add("slice", x, name=inner, axis=place, start=number * each, stop=(number + 1) * each)
            parts.append(self._add("squeeze", part, name=name, axis=place) if drop else part)
        self.x = parts[0]
        self.operands.update(zip(self.loss.parts, parts[1:], strict=True))

    def _check_factors(self) -> None:
        """Check the shapes of weights: one number for each class, or what broadcasts to the predictions."""
        shape, axis = self.x.shape, self.loss.class_axis
        for operand in self.loss.operands:
            value = self.operands[operand.name]
            if value is None or operand.name not in FACTORS or not shape:
                continue
            if operand.by_class:
                classes = shape[min(axis, len(shape) - 1)]
                good, wanted = value.shape == (classes,), f"{classes} numbers: one for each class"
            else:
                kept = shape[len(shape) - value.ndim :]
                good = value.ndim <= len(shape) and all(
                    extent in (1, whole) for extent, whole in zip(value.shape, kept, strict=False)
                )
                wanted = f"what broadcasts to the predictions {list(shape)}"
            if not good:
                detail = f"{operand.name} holds shape {list(value.shape)}, it takes {wanted}"
                raise DocumentError([Finding(f"/loss/{operand.name}", "shape_mismatch", detail)])

    def _check_paired(self) -> None:
        """Raise an error for operands that would broadcast against the predictions and compare rows with other rows."""
        for name in self.loss.paired:
            value = self.operands.get(name)
            if value is None or value.shape == self.x.shape:
                continue
            given, predictions = self.stack.shape_of(value), self.stack.shape_of(self.x)
            detail = (
                f"{self.op.name}: the {name} has shape {given} and the predictions have {predictions}; they must be "
                f"equal, for broadcasting would compare each row with others. {_advice(name, given, predictions)}"
            )
            pointer = f"/loss/{name}" if name in self.document else "/loss"
            raise DocumentError([Finding(pointer, "shape_mismatch", detail)])

    def _arrange(self) -> None:
        """Bring what flows rows first into the order of the op, and fill in lengths that are not named."""
        if not self.loss.time_major:
            return
        if self.x.ndim != 3:
            detail = f"{self.op.name} takes log-probabilities [rows, steps, classes], not {list(self.x.shape)}"
            raise DocumentError([Finding("/loss", "shape_mismatch", detail)])
        steps, lengths = self.x.shape[1], self.operands["target_lengths"]
        if self.operands["input_lengths"] is None and lengths is not None:
            none = self._add("mul", lengths, 0, name="no_lengths")
            self.operands["input_lengths"] = self._add("add", none, steps, name="input_lengths")
        self.x = self._add("permute", self.x, name="steps_first", axes=(1, 0, 2))

    def _apply(self, attrs: Mapping[str, Any], name: str = "") -> Value:
        operands = [self.operands[operand.name] for operand in self.loss.operands]
        while operands and operands[-1] is None:
            operands.pop()
        # The only operand that may be missing before another is a factor.
        return self._add(self.op.name, self.x, *(1.0 if o is None else o for o in operands), name=name, **attrs)

    def _add(self, op: str, *inputs: Value | float, name: str = "", **attrs: Any) -> Value:
        """Apply an op; where it refuses an option of the loss, the pointer is that option's."""
        try:
            return self.stack.apply(op, *inputs, name=name, **attrs)
        except DocumentError as error:
            finding = error.findings[0]
            found = re.search(rf"\b{self.op.name}: (?:the )?(\w+)\b", finding.detail)
            if not found or found[1] not in self.document:
                raise
            raise DocumentError([Finding(f"/loss/{found[1]}", finding.code, finding.detail)]) from error

    def _reduce_rows(self, weights: Value | None, *, wanted: bool) -> tuple[Value, ...]:
        """Compute the losses of the rows, and the loss from them."""
        reduction = self.attrs.get("reduction", "mean")
        values = self._apply({**self.attrs, "reduction": "none"}, "values")
        if not values.ndim:
            detail = "losses by example need predictions with an axis of rows; these have one loss in all"
            raise DocumentError([Finding("/loss", "shape_mismatch", detail)])
        if self.loss.time_major and reduction == "mean":
            values = self._over_lengths(values)
        rows = self._of_rows(values, "sum" if reduction in ("sum", "batchmean") else "mean")
        if weights is not None:
            self._append_weighted(values, rows, self._column(weights, values.shape[0]), reduction)
        elif reduction == "none":
            self._add("mean", values)
        else:
            self._apply(self.attrs)
        return (rows,) if wanted else ()

    def _over_lengths(self, values: Value) -> Value:
        lengths = self.operands["target_lengths"]
        assert lengths is not None
        counts = self._add(
            "cast", self._add("clamp", lengths, name="at_least_one", min=1), name="counts", dtype="float32"
        )
        return self._add("div", values, counts, name="values_by_length")

    def _of_rows(self, values: Value, how: str) -> Value:
        if values.ndim == 1:
            return self._add("reshape", values, name="per_example", shape=(-1,))
        return self._add(how, values, name="per_example", axis=tuple(range(1, values.ndim)))

    def _column(self, weights: Value, rows: int) -> Value:
        """Check the weights of the rows and bring them into the shape [rows]."""
        if weights.size != rows or not weights.ndim or weights.shape[0] != rows:
            detail = f"sample_weight takes one number for each of the {rows} rows, not shape {list(weights.shape)}"
            raise DocumentError([Finding("/loss/sample_weight", "shape_mismatch", detail)])
        if not is_float(weights.dtype):
            weights = self._add("cast", weights, name="factors", dtype=self.x.dtype.name)
        return self._add("reshape", weights, name="row_weights", shape=(-1,)) if weights.ndim > 1 else weights

    def _append_weighted(self, values: Value, rows: Value, weights: Value, reduction: str) -> None:
        if (self.loss.mean_by_weight and self.operands["weight"] is not None) or self.attrs.get("by_weight"):
            detail = f"{self.op.name} divides by the sum of its weight already; give weight or sample_weight"
            raise DocumentError([Finding("/loss/sample_weight", "attribute_invalid", detail)])
        target = self.operands.get("target")
        if reduction == "mean" and self.loss.weighted_mean and target is not None and not is_float(target.dtype):
            self._weighted_by_class(values, weights, target)
            return
        total = self._add("mul", rows, weights, name="weighted")
        if reduction == "sum":
            self._add("sum", total)
            return
        total = self._add("sum", total, name="total")
        self._add("div", total, self._add("sum", weights, name="weight_total"))

    def _weighted_by_class(self, values: Value, weights: Value, target: Value) -> None:
        """Divide by the weights of classes and rows together, so that equal weights of rows change nothing."""
        factor = self.operands["weight"]
        more = () if factor is None else (factor,)
        ignored = {name: value for name, value in self.attrs.items() if name == "ignore_index"}
        counted = self._add("target_weights", self.x, target, *more, name="counted", **ignored)
        if values.ndim > 1:
            weights = self._add("reshape", weights, name="weights", shape=(-1, *(1,) * (values.ndim - 1)))
        totals = [
            self._add("sum", self._add("mul", part, weights, name=f"weighted_{name}"), name=name)
            for name, part in (("total", values), ("weight_total", counted))
        ]
        self._add("div", *totals)


def _advice(name: str, given: list[int | str], predictions: list[int | str]) -> str:
    """Return advice on making the shapes equal."""
    if [*given, 1] == predictions:
        extents = ", ".join(map(str, predictions[1:]))
        return (
            f"Declare the {name} with shape {predictions}, which takes a column of float32[{extents}], or end the "
            'layers with {"layer": "squeeze"}'
        )
    if given == [*predictions, 1]:
        return f"Declare the {name} with shape {predictions}, its column without the [1], or predict with one unit"
    return f"Declare the {name} with shape {predictions}, or reshape the predictions"
