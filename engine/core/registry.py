"""The op table: how ops are declared and found, and the single point every operation goes through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar, overload

import numpy as np

from engine.core.call_arguments import normalize_call
from engine.core.declared_op import DeclaredOp, Kernel, ShapeRule
from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT_KINDS, computing_dtype, is_float
from engine.core.errors import (
    AttributeValueError,
    EngineError,
    ShapeError,
    UnknownName,
    accepted_names,
    name_op,
)
from engine.core.half_precision import SMALL, round_results, widen_halves
from engine.core.modes import MODES, recording_calls
from engine.core.promotion import compose_in_float32, promote, promote_numbers
from engine.core.signatures import call_signed
from engine.core.tape_marks import mark_results, note_inputs
from engine.core.unsupported_ops import refuse_unsupported
from engine.core.value import Node, Operand, Signature, Spec, Value, as_value

R = TypeVar("R")

OPS: dict[str, Op[Any]] = {}
"""Every op by name, in order of declaration."""
ALIASES: dict[str, Op[Any]] = {}
"""The op of each alias."""


class Op(DeclaredOp, Generic[R]):
    """An op that can be called: it makes Values.

    When every input has data and no graph is being traced, the kernel runs at once.
    """

    def __call__(self, *operands: Operand | None, **given: Any) -> R:
        """Apply the op to Values, arrays or numbers; returns a Value, or a tuple when it has several outputs.

        Attributes are given by name, and in PyTorch's forms (see `engine.core.call_arguments`).
        """
        if self._has_signatures and MODES.plain:
            made = call_signed(self, _sign, operands, given)
            if made is not None:
                return made  # type: ignore[return-value]
        if MODES.recorder is not None or len(operands) > self._most_plain:
            return self._call_in_full(operands, given)
        attrs = self.bind(given) if given or self._defaults is None else self._defaults
        inputs: tuple[Value, ...] = operands  # type: ignore[assignment]
        for operand in operands:
            if operand.__class__ is not Value:
                inputs = self._operands(operands)
                break
        else:
            if not self.required_inputs <= len(operands) <= self._most_inputs:
                inputs = self._operands(operands)
        return self._evaluate(inputs, attrs)

    def _call_in_full(self, operands: tuple[Any, ...], given: Mapping[str, Any]) -> R:
        """Apply the op in a call of any form, and record it if there is a recorder."""
        if self.call.with_index and "dim" in given:
            return OPS[self.call.with_index](*operands, **given)  # type: ignore[no-any-return]
        operands, given = normalize_call(self, operands, given)
        if MODES.recorder is not None:
            return self._recorded(MODES.recorder, operands, dict(given))
        attrs = self.bind(given)
        if self._has_training and attrs["training"] is None:
            attrs = {**attrs, "training": MODES.training}
        return self._evaluate(self._operands(operands), attrs)

    def _evaluate(self, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> R:
        try:
            if self.shape_rule is None:
                return self._composed(inputs, attrs)  # type: ignore[no-any-return]
            if self.promotion != "none":
                inputs = promote(self, inputs, OPS["cast"])
            specs = self.shape_rule(*inputs, **attrs)
            apply = self._trace if MODES.tracing else self._apply
            return apply(inputs, attrs, specs if self.multi_output else (specs,))  # type: ignore[arg-type, no-any-return]
        except EngineError as error:
            name_op(error, self.name)
            raise

    def _composed(self, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> Any:
        return (
            compose_in_float32(self, inputs, attrs, OPS["cast"])
            if self.compute_float32
            else self.body(*inputs, **attrs)
        )

    def _recorded(self, recorder: Callable[..., None], operands: tuple[Any, ...], given: dict[str, Any]) -> R:
        """Call the op and record it; a call that no graph can express is recorded as the calls it makes."""
        operands = self._given(operands)
        if any(operand is None for operand in operands) and self.composite and not self.variadic:
            attrs = self.bind(given)
            return self._composed(self._operands(operands), attrs)  # type: ignore[no-any-return]
        with recording_calls(None):
            made = self(*operands, **given)
        recorder(self, operands, given, made)
        return made

    def _operands(self, operands: tuple[Operand | None, ...]) -> tuple[Value, ...]:
        operands = self._given(operands)
        for operand in operands:
            if operand is None:
                self._check_left_out(operands)
                break
        inputs: tuple[Value, ...] = tuple(
            [o if o is None or isinstance(o, Value) else as_value(o) for o in operands]  # type: ignore[misc]
        )
        if self.random and len(inputs) == len(self.inputs) - 1:
            if MODES.next_key is None:
                raise EngineError(f"{self.name} needs a random key as its last input, or a seed set by engine.seed()")
            inputs = (*inputs, MODES.next_key())
        if len(inputs) < self.required_inputs or (not self.variadic and len(inputs) > len(self.inputs)):
            names = ", ".join(("*" if p.kind is p.VAR_POSITIONAL else "") + p.name for p in self.inputs)
            too_many = len(inputs) > len(self.inputs)
            hint = f"; give attributes by name: {next(iter(self.attributes))}=" if too_many and self.attributes else ""
            raise ShapeError(f"{self.name} takes ({names}), got {len(inputs)} input{'s' * (len(inputs) != 1)}{hint}")
        return inputs

    def _given(self, operands: tuple[Operand | None, ...]) -> tuple[Operand | None, ...]:
        """Return the operands without the optional ones at the end that are None; each of a list must be a value."""
        while operands and operands[-1] is None and not self.variadic:
            operands = operands[:-1]
        return operands

    def _check_left_out(self, operands: tuple[Operand | None, ...]) -> None:
        if self.variadic:
            number = next(place for place, operand in enumerate(operands) if operand is None)
            raise ShapeError(f"{self.name}: input {number} is null; leave it out of the list")
        if not self.composite or len(operands) > len(self.inputs):
            raise ShapeError(f"{self.name}: an optional input can only be left out together with the ones after it")
        for operand, parameter in zip(operands, self.inputs, strict=False):
            if operand is None and parameter.default is parameter.empty:
                raise ShapeError(f"{self.name} needs its input {parameter.name!r}, which is null")

    def _trace(self, inputs: tuple[Value, ...], attrs: dict[str, Any], specs: tuple[Spec, ...]) -> Any:
        """Join the graph without running the kernel."""
        if MODES.budget is not None:
            MODES.budget.charge_operation()
        tracked = False
        for value in inputs:
            if value.tracked:
                tracked = self.differentiable and MODES.recording
                break
        node = Node(self, inputs, attrs, specs, None, tracked)
        node.tape = MODES.tape
        if not self.multi_output:
            shape, dtype = specs[0]
            return Value(shape, dtype, None, node, 0, tracked and dtype.kind in FLOAT_KINDS)
        return tuple(
            [
                Value(spec.shape, spec.dtype, None, node, index, tracked and is_float(spec.dtype))
                for index, spec in enumerate(specs)
            ]
        )

    def _apply(self, inputs: tuple[Value, ...], attrs: dict[str, Any], specs: tuple[Spec, ...]) -> Any:
        eager, tracked, noted, narrow, arrays = True, False, MODES.anomaly, False, []
        for value in inputs:
            data = value.data
            if data is None:
                eager = False
            tracked = tracked or value.tracked
            if value.counter is not None or value.inference:
                noted = True
            if value.dtype is BFLOAT16 or (self.compute_float32 and value.dtype is FLOAT16 and value.size >= SMALL):
                narrow = True
            arrays.append(data)
        if not eager and MODES.budget is not None:
            MODES.budget.charge_operation()
        needs_grad = tracked and MODES.recording and self.differentiable
        results = self._run(arrays, attrs, specs, narrow) if eager else None
        node = None
        if needs_grad or results is None:
            node = Node(self, inputs, attrs, specs, results, needs_grad)
            node.tape = MODES.tape
            if noted and results is not None:
                note_inputs(node, inputs)
        if not self.multi_output and not self.view and not MODES.inference:
            shape, dtype = specs[0]
            data = None if results is None else results[0]
            return Value(shape, dtype, data, node, 0, needs_grad and dtype.kind in FLOAT_KINDS)
        datas = (None,) * len(specs) if results is None else results
        values = tuple(
            Value(spec.shape, spec.dtype, data, node, index, needs_grad and is_float(spec.dtype))
            for index, (spec, data) in enumerate(zip(specs, datas, strict=True))
        )
        if results is not None and (self.view or MODES.inference):
            mark_results(inputs, values, is_view=bool(self.view), differentiable=self.differentiable)
        return values if self.multi_output else values[0]

    def _run(self, arrays: list[Any], attrs: dict[str, Any], specs: tuple[Spec, ...], narrow: bool) -> tuple[Any, ...]:
        """Run the kernel. Results that are no views are row-major, as in plans: sums depend on the order in memory."""
        narrow = narrow and not self.supports_bfloat16
        made = MODES.kernels.run(self.body, *(widen_halves(arrays) if narrow else arrays), **attrs)
        results = made if self.multi_output else (made if made.__class__ is np.ndarray else np.asarray(made),)
        if not self.view:
            for result in results:
                if not result.flags.c_contiguous:
                    results = tuple(np.asarray(result, order="C") for result in results)
                    break
        return round_results(results, specs) if narrow else results


@overload
def primitive(
    *, shape_rule: ShapeRule, multi_output: Literal[False] = False, **options: Any
) -> Callable[[Kernel], Op[Value]]: ...
@overload
def primitive(
    *, shape_rule: ShapeRule, multi_output: Literal[True], **options: Any
) -> Callable[[Kernel], Op[tuple[Value, ...]]]: ...
def primitive(*, shape_rule: ShapeRule, multi_output: bool = False, **options: Any) -> Callable[[Kernel], Op[Any]]:
    """Declare an op from its kernel; the function's name and docstring are the op's.

    Args:
        shape_rule: called with the input Values and attributes; returns a tuple if there are several outputs.
        multi_output: the op has a tuple of outputs.
        options: what else it declares, see `DeclaredOp`.
    """
    return lambda body: _register(Op(body, shape_rule=shape_rule, multi_output=multi_output, **options))


def composite(**options: Any) -> Callable[[Callable[..., R]], Op[R]]:
    """Declare an op written in other ops: its body gets and returns Values. Options: see `DeclaredOp`."""
    return lambda body: _register(Op(body, shape_rule=None, **options))


def named(body: Callable[..., R], name: str, doc: str) -> Callable[..., R]:
    """Name and document the body of an op that belongs to a family declared by one function."""
    body.__name__, body.__doc__ = name, doc
    return body


def _sign(op: Op[Any], operands: tuple[Any, ...], given: Mapping[str, Any]) -> Signature | None:
    """Return the signature of a call; None if it has none: only numbers may be promoted, and no half types used."""
    if "training" in op.attributes or (op.call.with_index and "dim" in given):
        return None
    inputs = promote_numbers(op, operands)
    if inputs is None:
        return None
    try:
        # Without data: a shape rule that reads the data of its inputs fails here, and has no signatures.
        called, attrs = normalize_call(op, inputs, given)
        if len(called) != len(inputs) or any(new is not old for new, old in zip(called, inputs, strict=True)):
            return None
        bound = op.bind(attrs)
        assert op.shape_rule is not None
        output = op.shape_rule(*inputs, **bound)
    except EngineError:  # the call itself raises it
        return None
    assert isinstance(output, Spec)
    specs = tuple(value.spec for value in inputs)
    if any(computing_dtype(dtype) != dtype for _, dtype in (*specs, output)):
        return None
    return Signature(op, specs, bound, output)


def find_op(name: str) -> Op[Any] | None:
    """Return the op called `name` (or known by that alias), or None."""
    return OPS.get(name) or ALIASES.get(name)


def prepare_ops() -> Iterator[None]:
    """Prepare every op, one at each step: what a process has prepared those forked from it find prepared."""
    for op in tuple(OPS.values()):
        op.prepare()
        yield


def lookup(name: str) -> Op[Any]:
    """Return the op called `name` (or known by that alias).

    Raises:
        UnsupportedOp: an operation of the engines this one follows that it does not have.
        UnknownName: any other name; the message has the nearest known one.
    """
    op = find_op(name)
    if op is None:
        refuse_unsupported(name)
        raise UnknownName(f"there is no op called {name[:64]!r}{accepted_names(name, [*OPS, *ALIASES], 'GET /v1/ops')}")
    return op


def _register(op: Op[R]) -> Op[R]:
    for name in (op.name, *op.aliases):
        if name in OPS or name in ALIASES:
            raise AttributeValueError(f"op {name!r} is declared twice")
        ALIASES[name] = op
    OPS[op.name] = ALIASES.pop(op.name)
    return op
