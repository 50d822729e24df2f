"""What an op declares: documentation, inputs and attributes read off its body, and the rules given with it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from engine.core.attributes import Attribute, attributes_of, bind
from engine.core.call_arguments import rename_attributes
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
from engine.core.losses import Loss
from engine.core.samples import Sample
from engine.core.shape_rules import broadcast, broadcast_bool, same, same_bool, same_number
from engine.core.signatures import Key
from engine.core.value import Cotangents, Node, Shape, Signature, Spec, Value

Kernel = Callable[..., Any]
ShapeRule = Callable[..., Spec | tuple[Spec, ...]]
Rule = Callable[..., Any]

ELEMENTWISE_RULES = (broadcast, broadcast_bool, same, same_bool, same_number)
"""The shape rules of elementwise ops."""


def keywords_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the keyword-only parameters of a plain function."""
    code = function.__code__
    return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]


class DeclaredOp:
    """Documentation, attributes, shape rule, kernel, backward rule and samples of an op."""

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

    @cached_property
    def _most_plain(self) -> int:
        """How many operands a call may have that needs no `_call_in_full`: inputs by place, attributes by name."""
        spread = bool(self.inputs) and self.inputs[0].kind is inspect.Parameter.VAR_POSITIONAL
        full = spread or self.random or self._has_training or self.call.orders or self.call.with_index
        return -1 if full else self._most_inputs

    @cached_property
    def _most_inputs(self) -> int:
        return 2**31 if self.variadic else len(self.inputs)

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
