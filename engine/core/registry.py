"""The op table: what an op is, how one is declared, and the single point every operation goes through."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, overload

import numpy as np

from engine.core.attributes import Attribute, attributes_of, bind
from engine.core.call_arguments import normalize_call, rename_attributes
from engine.core.declarations import (
    Algebra,
    CallForms,
    Documentation,
    Fans,
    Flops,
    Memory,
    Numerics,
    Sharding,
    converted_bytes,
    nbytes,
)
from engine.core.dtypes import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT_KINDS,
    DType,
    Strength,
    computing_dtype,
    is_float,
    result_type,
    to_float,
)
from engine.core.errors import (
    AttributeValueError,
    EngineError,
    ShapeError,
    UnknownName,
    accepted_names,
    name_op,
)
from engine.core.half_precision import SMALL, round_results, widen_halves
from engine.core.losses import Loss
from engine.core.modes import MODES, recording_calls
from engine.core.samples import Sample
from engine.core.shape_rules import broadcast, broadcast_bool, same, same_bool, same_number
from engine.core.signatures import Key, call_signed
from engine.core.tape_marks import mark_results, note_inputs
from engine.core.unsupported_ops import refuse_unsupported
from engine.core.value import Cotangents, Node, Operand, Shape, Signature, Spec, Value, as_value

Kernel = Callable[..., Any]
ShapeRule = Callable[..., Spec | tuple[Spec, ...]]
Rule = Callable[..., Any]

ELEMENTWISE_RULES = (broadcast, broadcast_bool, same, same_bool, same_number)
"""The shape rules of elementwise ops."""

R = TypeVar("R")

OPS: dict[str, Op[Any]] = {}
"""Every op by name, in order of declaration."""
ALIASES: dict[str, Op[Any]] = {}
"""The op of each alias."""


def keywords_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the keyword-only parameters of a plain function."""
    code = function.__code__
    return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]


class Op(Generic[R]):
    """One op: its documentation, attributes, shape rule, kernel, backward rule and samples.

    Calling it makes Values. When every input has data and no graph is being traced, the kernel runs at once.
    """

    def __init__(
        self,
        body: Kernel,
        *,
        shape_rule: ShapeRule | None,
        samples: Sequence[Sample] = (),
        aliases: Sequence[str] = (),
        multi_output: bool = False,
        random: bool = False,
        data_dependent: bool = False,
        differentiable: bool = True,
        batching: Rule | None = None,
        call: CallForms = CallForms(),
        numerics: Numerics = Numerics(),
        memory: Memory = Memory(),
        algebra: Algebra = Algebra(),
        documentation: Documentation = Documentation(),
        sharding: Sharding | None = None,
        flops: Flops | None = None,
        fans: Fans | None = None,
        loss: Loss | None = None,
    ) -> None:
        """Read name, documentation, inputs and attributes off `body`.

        Args:
            body: the kernel (arrays in, arrays out), or the composition of other ops when there is no `shape_rule`.
            shape_rule: called with the input Values and the attributes; returns the Spec of each output.
            samples: example calls for tests and the catalogue.
            aliases: other names the op is known by.
            multi_output: the op has a tuple of outputs.
            random: the last input is a random key, supplied when left out.
            data_dependent: the shape of a result depends on data, so that a graph cannot hold the op.
            differentiable: False for ops whose results carry no gradient.
            batching: how the op applies to many examples at once, see `batch`.
            call: forms of a call in PyTorch's order of arguments.
            numerics: promotion, mixed precision and half types.
            memory: views, in-place outputs, running statistics and scratch memory.
            algebra: what rewrites and the planner may conclude.
            documentation: names of outputs, and notes on gradients.
            sharding: how the op applies to parts of its inputs (see engine.core.sharding_rules); elementwise ops and
                views need none.
            flops: arithmetic operations; by default one for each element of the largest operand.
            fans: fan-in and fan-out of a parameter among the inputs, for ops that are products with a weight.
            loss: predictions and operands of a loss, for the `layers` form, metrics and reports.
        """
        self.name = body.__name__.rstrip("_")
        self.body = body
        self.shape_rule = shape_rule
        self.samples = tuple(samples)
        self.aliases = tuple(aliases)
        self.multi_output = multi_output
        self.random = random
        self.data_dependent = data_dependent
        self.differentiable = differentiable
        self.call = call
        self.numerics, self.memory, self.algebra, self.documentation = numerics, memory, algebra, documentation
        self.sharding = sharding
        self.fans = fans
        self.loss = loss
        self._flops = flops
        # Read at every call on the tape, where a second attribute access is measurable.
        self.promotion, self.promote_from = numerics.promotion, numerics.promote_from
        self.compute_float32 = numerics.compute_float32
        self.supports_bfloat16 = numerics.supports_bfloat16 or bool(memory.view)
        self.view = memory.view
        self.rule: Rule | None = None
        self.composition: Rule | None = None
        self.batching = batching
        self._rule_attrs: tuple[str, ...] | None = ()
        self.signatures: dict[Key, Signature | None] = {}
        self._has_signatures = shape_rule is not None and not (random or multi_output or data_dependent)
        self.takes_out = "out" in keywords_of(body)
        self.__doc__ = body.__doc__
        self.__name__ = self.name

    # The following is read off the body at first use: a starting process needs few of the ops.

    def prepare(self) -> None:
        """Read off the body what a call needs, which the first one would do otherwise: 0.4 ms."""
        _ = (self._defaults, self._most_plain, self.required_inputs)

    @cached_property
    def doc(self) -> str:
        """The documentation, without indentation."""
        return inspect.getdoc(self.body) or ""

    @cached_property
    def inputs(self) -> tuple[inspect.Parameter, ...]:
        """The positional parameters: the values that a call takes."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        return tuple(p for p in inspect.signature(self.body).parameters.values() if p.kind in kinds)

    @cached_property
    def variadic(self) -> bool:
        """Whether a call takes any number of values, at least one."""
        return any(p.kind is p.VAR_POSITIONAL for p in self.inputs)

    @cached_property
    def required_inputs(self) -> int:
        """How many values a call takes at least."""
        return sum(p.default is p.empty for p in self.inputs)

    @cached_property
    def attributes(self) -> dict[str, Attribute]:
        """The keyword-only parameters: what a call can set."""
        return {a.name: a for a in attributes_of(self.body)}

    @cached_property
    def _defaults(self) -> dict[str, Any] | None:
        """The attributes of a call that sets none, or None when it has to."""
        return None if any(a.required for a in self.attributes.values()) else bind(self.name, self.attributes, {})

    @cached_property
    def _has_training(self) -> bool:
        return "training" in self.attributes

    @property
    def no_gradient(self) -> str:
        """Why a floating result carries no gradient; empty where it does, or where results are not floating."""
        if self.differentiable or self.documentation.no_gradient:
            return self.documentation.no_gradient
        if self.random:
            return "it is drawn from a key, which has no gradient"
        return "" if self.inputs else "it is a constant"

    @property
    def composite(self) -> bool:
        """Whether it is written in other ops and has no rules of its own."""
        return self.shape_rule is None

    @property
    def elementwise(self) -> bool:
        """Whether an output element depends on the input elements at the same place only."""
        declared = self.algebra.elementwise
        return self.shape_rule in ELEMENTWISE_RULES if declared is None else declared

    def count_flops(self, attrs: Mapping[str, Any], inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
        """Return the estimated arithmetic operations of one application."""
        if self._flops is not None:
            return self._flops(attrs, inputs, outputs)
        return max(math.prod(shape) for shape in (*outputs, *inputs))

    def scratch_bytes(self, attrs: Mapping[str, Any], inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
        """Return about how many bytes the NumPy kernel allocates beside its outputs."""
        if self.memory.scratch is not None:
            return converted_bytes(inputs) + self.memory.scratch(attrs, inputs, outputs)
        if self.supports_bfloat16 or self.memory.packs or self.takes_out:
            return 0
        return sum(map(nbytes, outputs))  # results of a kernel without `out` are copied to where they belong

    def vjp(self, rule: Rule) -> Rule:
        """Declare the backward rule: `rule(g, y, *inputs, **attrs)` gives one cotangent per input.

        `g` is the cotangent of the output `y`, both tuples when there are several outputs (entries of `g` may be None).
        An entry of the answer is a Value, None, or a function of no arguments called only when that input needs it.
        The rule names the attributes it takes as keyword-only parameters, or takes all of them as `**attrs`.
        """
        self.rule = rule
        self._rule_attrs = None if rule.__code__.co_flags & inspect.CO_VARKEYWORDS else keywords_of(rule)
        self.signatures.clear()
        return rule

    def vjp_through(self, composition: Rule) -> Rule:
        """Declare, in place of a backward rule, the op itself written in other ops: the walk goes through those.

        `composition(*inputs, **attrs)` gives what the op gives. It serves derivatives too rare for a rule of their own,
        as the second ones of fused kernels.
        """
        self.rule = self.composition = composition
        self.signatures.clear()
        return composition

    def batch(self, rule: Rule) -> Rule:
        """Declare the batching rule: how the op applies to many examples at once (see engine.core.batching)."""
        self.batching = rule
        return rule

    def pull(
        self, node: Node, cotangents: Cotangents, inputs: Sequence[Value], outputs: Sequence[Value]
    ) -> tuple[Any, ...]:
        """Run the backward rule of `node`, an application of this op to `inputs` that gave `outputs`."""
        assert self.rule is not None
        attrs = node.attrs if self._rule_attrs is None else {name: node.attrs[name] for name in self._rule_attrs}
        if len(outputs) == 1:
            result = self.rule(cotangents[0], outputs[0], *inputs, **attrs)
        else:
            result = self.rule(cotangents, tuple(outputs), *inputs, **attrs)
        return result if isinstance(result, tuple) else (result,)

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check the attributes of a call and fill in the defaults."""
        if not given and self._defaults is not None:
            return self._defaults
        return bind(self.name, self.attributes, rename_attributes(self.attributes, given))

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
                return _composed(self.body, inputs, attrs, self.compute_float32)  # type: ignore[no-any-return]
            if self.promotion != "none":
                inputs = self._promote(inputs)
            specs = self.shape_rule(*inputs, **attrs)
            apply = self._trace if MODES.tracing else self._apply
            return apply(inputs, attrs, specs if self.multi_output else (specs,))  # type: ignore[arg-type, no-any-return]
        except EngineError as error:
            name_op(error, self.name)
            raise

    def _recorded(self, recorder: Callable[..., None], operands: tuple[Any, ...], given: dict[str, Any]) -> R:
        """Call the op and record it; a call that no graph can express is recorded as the calls it makes."""
        operands = self._given(operands)
        if any(operand is None for operand in operands) and self.composite and not self.variadic:
            attrs = self.bind(given)
            return _composed(self.body, self._operands(operands), attrs, self.compute_float32)  # type: ignore[no-any-return]
        with recording_calls(None):
            made = self(*operands, **given)
        recorder(self, operands, given, made)
        return made

    @cached_property
    def _most_plain(self) -> int:
        """How many operands a call may have that needs no `_call_in_full`: inputs by place, attributes by name."""
        spread = bool(self.inputs) and self.inputs[0].kind is inspect.Parameter.VAR_POSITIONAL
        full = spread or self.random or self._has_training or self.call.orders or self.call.with_index
        return -1 if full else self._most_inputs

    @cached_property
    def _most_inputs(self) -> int:
        return 2**31 if self.variadic else len(self.inputs)

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

    def _promote(self, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
        rest = inputs[self.promote_from :]
        dtype: DType | None = None  # of all but Python numbers, if it is one
        weak = False
        for value in rest:
            if value.weak:
                weak = True
            elif dtype is None:
                dtype = value.dtype
            elif value.dtype is not dtype:
                dtype = None
                break
        if dtype is not None and not weak and (self.promotion == "common" or is_float(dtype)):
            return inputs
        if dtype is None or not is_float(dtype):  # a number beside a floating type never changes it
            dtype = result_type((v.dtype, _strength(v)) for v in rest)
            if self.promotion == "float":
                dtype = to_float(dtype)
        return inputs[: self.promote_from] + tuple([_as_dtype(v, dtype) for v in rest])

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
        options: what else it declares, see `Op`.
    """
    return lambda body: _register(Op(body, shape_rule=shape_rule, multi_output=multi_output, **options))


def composite(**options: Any) -> Callable[[Callable[..., R]], Op[R]]:
    """Declare an op written in other ops: its body gets and returns Values. Options: see `Op`."""
    return lambda body: _register(Op(body, shape_rule=None, **options))


def named(body: Callable[..., R], name: str, doc: str) -> Callable[..., R]:
    """Name and document the body of an op that belongs to a family declared by one function."""
    body.__name__, body.__doc__ = name, doc
    return body


def _sign(op: Op[Any], operands: tuple[Any, ...], given: Mapping[str, Any]) -> Signature | None:
    """Return the signature of a call; None if it has none: only numbers may be promoted, and no half types used."""
    if "training" in op.attributes or (op.call.with_index and "dim" in given):
        return None
    inputs = _promoted(op, operands)
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


def _promoted(op: Op[Any], operands: tuple[Any, ...]) -> tuple[Value, ...] | None:
    """Return the inputs without data, numbers in the dtype of the values beside them; None if more is to be done."""
    if not op.required_inputs <= len(operands) or (len(operands) > len(op.inputs) and not op.variadic):
        return None
    dtypes = {operand.dtype for operand in operands[op.promote_from :] if isinstance(operand, Value)}
    has_numbers = any(not isinstance(operand, Value) for operand in operands)
    # Whether a number is an attribute may depend on the number where calls have several forms.
    if has_numbers and (op.promotion == "none" or op.promote_from or op.call.orders):
        return None
    if op.promotion != "none" and len(dtypes) != 1:
        return None
    if (has_numbers or op.promotion == "float") and not all(map(is_float, dtypes)):
        return None
    dtype = next(iter(dtypes), FLOAT32)
    return tuple(
        Value(operand.shape, operand.dtype, None) if isinstance(operand, Value) else Value((), dtype, None)
        for operand in operands
    )


def _composed(body: Kernel, inputs: tuple[Value, ...], attrs: dict[str, Any], wide_when_narrow: bool) -> Any:
    """Run a composition, if so asked in float32 when its floating inputs (some may be None) are of one half type."""
    if not wide_when_narrow:
        return body(*inputs, **attrs)
    floats = [v.dtype for v in inputs if v is not None and is_float(v.dtype) and not v.weak]
    if not floats or floats[0] == computing_dtype(floats[0]) or any(dtype != floats[0] for dtype in floats):
        return body(*inputs, **attrs)
    half = floats[0]
    ends: dict[object, Value | None] = {}
    for v in inputs:
        if v is not None and v.key not in ends:
            ends[v.key] = OPS["cast"](v, dtype=FLOAT32) if v.dtype == half else v
    result: Any = body(*(None if v is None else ends[v.key] for v in inputs), **attrs)
    results = [
        OPS["cast"](v, dtype=half) if v.dtype == FLOAT32 else v
        for v in (result if isinstance(result, tuple) else (result,))
    ]
    return tuple(results) if isinstance(result, tuple) else results[0]


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


def _strength(value: Value) -> Strength:
    if value.weak:
        return Strength.NUMBER
    return Strength.ARRAY if value.shape else Strength.SCALAR


def _as_dtype(value: Value, dtype: DType) -> Value:
    if value.weak:
        assert value.data is not None
        return Value((), dtype, MODES.kernels.run(value.data.astype, dtype))
    return value if value.dtype is dtype or value.dtype == dtype else OPS["cast"](value, dtype=dtype)
