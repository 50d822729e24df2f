"""The two kinds of optimizers: those that evaluate the loss themselves, and transforms, which are chains of links.

Small parameters are stepped together: an update costs dozens of operations, however few the elements are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from engine.core.attributes import Rate, attributes_of
from engine.core.dtypes import DType
from engine.core.errors import AttributeValueError
from engine.core.value import Spec, Value
from engine.ops.optimizer.lazy import RowLayout
from engine.optim.fusion import fused_step
from engine.optim.transforms.link import Direction, Link, Slots, advance, cast_like

PassResult = tuple[Value, dict[str, Value]]
ONE_PARAMETER = RowLayout()
"""The layout of what is no vector of several parameters."""


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """Options of an optimizer, and the slots that it keeps beside each parameter; all slots start at 0.

    `lr` is the initial learning rate; a schedule may feed another one in each step.
    """

    kind: ClassVar[str]
    momentum_option: ClassVar[Literal["momentum", "betas"] | None] = None
    """The option that holds the momentum: `momentum`, or `betas`, whose first number counts as momentum."""
    lr: Rate = 1e-3

    def __post_init__(self) -> None:
        for option in attributes_of(type(self)):
            option.check_range(option.name, getattr(self, option.name))

    @property
    def elementwise(self) -> bool:
        """Whether elements are independent of each other, so that parameters may be stepped as one vector."""
        return True

    @property
    def by_rows(self) -> bool:
        """Whether rows are independent of each other, so that a vector may be stepped whose layout is given."""
        return self.elementwise

    @property
    def own_momentum(self) -> float | None:
        """The momentum, or beta1, which is used when none is fed; None for an optimizer without."""
        if self.momentum_option is None:
            return None
        option = getattr(self, self.momentum_option)
        return float(option[0] if isinstance(option, tuple) else option)

    @property
    def has_momentum(self) -> bool:
        """Whether a schedule may change its momentum."""
        return self.own_momentum is not None

    @property
    def momentum_options(self) -> dict[str, Any]:
        """The option that holds the momentum, if there is one, by its name."""
        return {} if self.momentum_option is None else {self.momentum_option: getattr(self, self.momentum_option)}

    def with_momentum(self, momentum: float) -> Self:
        """Return the optimizer with another momentum, and the slots that this needs.

        Raises:
            AttributeValueError: the optimizer has no momentum.
        """
        if self.momentum_option is None:
            detail = f"{self.kind} has no momentum that could be {momentum:g}"
            raise AttributeValueError(f"{detail}; give a schedule that cycles momentum cycle_momentum false")
        option = getattr(self, self.momentum_option)
        changed: Any = (momentum, *option[1:]) if isinstance(option, tuple) else momentum
        return replace(self, **{self.momentum_option: changed})

    @abstractmethod
    def slots(self, parameter: Spec) -> dict[str, Spec]:
        """Return shape and dtype of every slot for a parameter."""


@dataclass(frozen=True, kw_only=True)
class Transform(Optimizer):
    """An optimizer that steps by a given gradient: a chain of links, written in ops, so that any graph can hold it.

    With `maximize` the step goes up the gradient.
    """

    maximize: bool = False

    @abstractmethod
    def links(self, momentum: float) -> tuple[Link, ...]:
        """Return the links of the chain.

        Args:
            momentum: the optimizer's own, or one that is fed: a Value without axes, which computes like a number. An
                optimizer without momentum ignores it.
        """

    @property
    def elementwise(self) -> bool:
        return all(link.elementwise for link in self.links(self.own_momentum or 0.0))

    @property
    def by_rows(self) -> bool:
        return all(link.by_rows for link in self.links(self.own_momentum or 0.0))

    def slots(self, parameter: Spec) -> dict[str, Spec]:
        return {
            self.slot_name(slot, place): spec
            for place, link in enumerate(self.links(self.own_momentum or 0.0))
            for slot, spec in link.slots(parameter).items()
        }

    def slot_name(self, slot: str, place: int) -> str:
        """Return the name of a link's slot; the links of a named optimizer have slots of different names."""
        return slot

    def update(
        self,
        gradient: Value,
        parameter: Value,
        slots: Slots,
        lr: Value,
        momentum: Value | None = None,
        layout: RowLayout = ONE_PARAMETER,
    ) -> PassResult:
        """Return the parameter and the slots after one step, in the dtypes that they had.

        Args:
            gradient: of the parameter's shape and dtype.
            parameter: before the step.
            slots: as `slots` describes them.
            lr: the learning rate, a float64 number.
            momentum: replaces the optimizer's own momentum; a float64 number greater than 0.
            layout: the parameters that a vector consists of, where the optimizer steps by rows.

        Raises:
            AttributeValueError: a momentum is fed to an optimizer without momentum, or with momentum 0 and therefore
                without slots for it.
        """
        if momentum is not None:
            self._require_momentum(momentum)
        # A fed momentum is a Value without axes: the arithmetic of the links on it is that on a number.
        links = self.links(cast(float, momentum) if momentum is not None else self.own_momentum or 0.0)
        stepped, changed = self.step(
            links, Direction(-gradient if self.maximize else gradient, parameter, lr, lr, layout), slots
        )
        return cast_like(stepped, parameter), {name: cast_like(value, slots[name]) for name, value in changed.items()}

    def step(self, links: tuple[Link, ...], direction: Direction, slots: Slots) -> PassResult:
        """Return the parameter and the slots after one step: by one op where one computes the whole chain."""
        return fused_step(links, direction, slots) or self.compose(links, direction, slots)

    def compose(self, links: tuple[Link, ...], direction: Direction, slots: Slots) -> PassResult:
        """Return the parameter and the slots after one step, link by link."""
        names = [
            {slot: self.slot_name(slot, place) for slot in link.slots(direction.parameter.spec)}
            for place, link in enumerate(links)
        ]
        own = tuple({slot: slots[name] for slot, name in of_link.items()} for of_link in names)
        direction, changed = advance(links, direction, own)
        return direction.stepped(), {
            of_link[slot]: value for of_link, fresh in zip(names, changed, strict=True) for slot, value in fresh.items()
        }

    def _require_momentum(self, momentum: Value) -> None:
        if not self.has_momentum:
            raise AttributeValueError(f"{self.kind} has no momentum, so none of {momentum.dtype.name} can be fed to it")
        if not self.own_momentum:
            detail = f"{self.kind} has momentum 0 and may have no slots for one that is fed"
            raise AttributeValueError(f"{detail}; use with_momentum(what it starts from)")


SMALL = 2**14
"""Number of elements up to which concatenating parameters costs less than an update of each."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A parameter to be stepped: its value, gradient and slots."""

    name: str
    leaf: Value
    start: Value
    gradient: Value
    slots: Slots


def step_jointly(transform: Transform, pending: Sequence[Pending], lr: Value) -> list[PassResult]:
    """Return each parameter and its slots after one step of `transform`.

    For elementwise updates, small parameters of one dtype and step count are stepped as one vector; the results are
    bitwise the same.
    """
    results: dict[str, PassResult] = {}
    for together in _clusters(transform, pending):
        if len(together) == 1:
            (one,) = together
            results[one.name] = transform.update(one.gradient, one.start, one.slots, lr)
        else:
            results.update(_joined(transform, together, lr))
    return [results[one.name] for one in pending]


def _clusters(transform: Transform, pending: Sequence[Pending]) -> list[list[Pending]]:
    if not transform.elementwise:
        return [[one] for one in pending]
    clusters: dict[object, list[Pending]] = {}
    shared: dict[DType, list[str]] = {}
    for one in pending:
        dtype = one.start.dtype
        if dtype not in shared:
            shared[dtype] = _shared_slots(transform, dtype)
        counts = tuple(one.slots[slot].numpy().tobytes() for slot in shared[dtype])
        key = (dtype, counts) if one.start.size <= SMALL else one.name
        clusters.setdefault(key, []).append(one)
    return list(clusters.values())


def _shared_slots(transform: Transform, dtype: DType) -> list[str]:
    """Return the slots that all elements of a parameter share, such as the step count."""
    return [slot for slot, spec in transform.slots(Spec((2,), dtype)).items() if spec.shape != (2,)]


def _joined(transform: Transform, together: Sequence[Pending], lr: Value) -> dict[str, PassResult]:
    first = together[0]
    shared = _shared_slots(transform, first.start.dtype)
    slots = {
        slot: value if slot in shared else _vector([one.slots[slot] for one in together])
        for slot, value in first.slots.items()
    }
    gradient, start = _vector([one.gradient for one in together]), _vector([one.start for one in together])
    stepped, changed = transform.update(gradient, start, slots, lr)
    results, end = {}, 0
    for one in together:
        begin, end = end, end + one.start.size
        cut = {
            slot: value if slot in shared else _piece(value, begin, end, one.start.shape)
            for slot, value in changed.items()
        }
        results[one.name] = _piece(stepped, begin, end, one.start.shape), cut
    return results


def _vector(values: Sequence[Value]) -> Value:
    data = np.concatenate([value.numpy().reshape(-1) for value in values])
    return Value(data.shape, data.dtype, data)


def _piece(vector: Value, begin: int, end: int, shape: tuple[int, ...]) -> Value:
    return Value(shape, vector.dtype, vector.numpy()[begin:end].reshape(shape))
