"""Cached plans, and executors that bind them to the arrays of one model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from threading import Lock
from typing import Any, ParamSpec

import numpy as np

from engine.core.garbage import rare_collections
from engine.core.registry import find_op
from engine.core.value import Array
from engine.execution.native import bind
from engine.execution.plan import NumpyExecutor, Plan
from engine.graph.definition import Definition
from engine.optim.optimizer import Optimizer
from engine.training.recipe.options import Record
from engine.training.recipe.recipe import Recipe
from engine.training.step.plans import trained_parameters
from engine.training.train_state import StateLayout

PLANS = 128
"""Maximum number of cached plans."""
CONSTANT_BYTES = 2**28
"""Maximum bytes of constants in cached plans."""

LEFT_OUT: dict[type, frozenset[str]] = {
    # The definition holds the class weights, the caller passes which vectors move, of the schedule only counts whether
    # it cycles momentum, and the rest is about which rows come when, and what is done between steps.
    Recipe: frozenset(
        (
            "epochs", "steps", "batch_size", "micro_batch_size", "shuffle", "sampling", "windows", "normalize",
            "class_weights", "drop_last", "prefetch", "seed", "freeze", "validation", "early_stopping", "budget",
            "checkpoint", "feeds", "columns", "schedule",
        )
    ),
    Optimizer: frozenset(("lr",)),  # an input of the plan
    Record: frozenset(("every_steps", "epochs", "gradients")),  # captured by a plan of their own
}  # fmt: skip
"""Fields that no plan depends on."""

P = ParamSpec("P")


class _Key:
    """What identifies a plan, hashed once: a nested tuple would be hashed at every look-up."""

    __slots__ = ("facts", "hash")

    def __init__(self, facts: Hashable) -> None:
        self.facts = facts
        self.hash = hash(facts)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.hash == other.hash and self.facts == other.facts


@dataclass
class _Entry:
    lock: Lock = field(default_factory=Lock)
    plan: Plan | None = None
    constant_bytes: int = 0


class PlanCache:
    """The latest plans, by the arguments they were made from. Threads may share it; each plan is made once."""

    def __init__(self, plans: int = PLANS, constant_bytes: int = CONSTANT_BYTES) -> None:
        """Limit the number of plans, and the bytes of their constants; the latest plan is always kept."""
        self._most = plans
        self._most_bytes = constant_bytes
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def plan(self, make: Callable[P, Plan], *args: P.args, **kwargs: P.kwargs) -> Plan:
        """Return `make(*args, **kwargs)`, cached. Plans and their contents must not be modified."""
        key = _Key((make, fact(args), fact(kwargs)))
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
        with entry.lock:
            if entry.plan is not None:
                return entry.plan
            try:
                entry.plan = make(*args, **kwargs)
                entry.constant_bytes = sum(array.nbytes for array in entry.plan.constants.values())
            finally:
                with self._lock:
                    self._forget(key)
        return entry.plan

    def clear(self) -> None:
        """Drop all plans."""
        with self._lock:
            self._entries.clear()

    def _forget(self, key: _Key) -> None:
        """Drop a failed request, and the least recently used plans beyond the limits."""
        entry = self._entries.get(key)
        if entry is not None and entry.plan is None:
            del self._entries[key]
        made = [(key, entry.constant_bytes) for key, entry in self._entries.items() if entry.plan is not None]
        count, total = len(made), sum(size for _, size in made)
        for oldest, size in made[:-1]:
            if count <= self._most and total <= self._most_bytes:
                break
            count, total = count - 1, total - size
            del self._entries[oldest]


_CACHE = PlanCache()  # of the process: fits that share nothing else share their plans


def cached_plan(make: Callable[P, Plan], *args: P.args, **kwargs: P.kwargs) -> Plan:
    """Return `make(*args, **kwargs)` from this process's cache."""
    return _CACHE.plan(make, *args, **kwargs)


_TRAINED: OrderedDict[_Key, tuple[str, ...]] = OrderedDict()
"""What `cached_trained_parameters` has found last."""


def cached_trained_parameters(definition: Definition, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Return `trained_parameters` from this process's cache, which takes a trace otherwise."""
    key = _Key((fact(definition), fact(dims)))
    found = _TRAINED.get(key)
    if found is None:
        found = _TRAINED[key] = trained_parameters(definition, dims)
        while len(_TRAINED) > PLANS:
            _TRAINED.popitem(last=False)
    return found


def fact(value: Any) -> Hashable:
    """Return a key of what a plan depends on in a value: equal keys give equal plans."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):  # 1, 1.0 and True are equal, and so are 0.0 and -0.0, but plans of them are not
        return (type(value), repr(value))
    if isinstance(value, StateLayout):
        arrays = (value.flat_groups, value.slots, value.specs, value.averages)
        return (StateLayout, fact(value.definition), fact(value.groups), *map(fact, arrays))
    if isinstance(value, Definition):
        ops = sorted({node.op for node in value.nodes})
        return (Definition, value.digest, *(find_op(op) for op in ops))  # a name may be given to another op
    if isinstance(value, tuple | list):
        return (type(value), *map(fact, value))
    if isinstance(value, Mapping):
        return (dict, tuple((fact(key), fact(item)) for key, item in value.items()))
    kept = _kept_fields(value.__class__)
    if kept is not None:
        facts = [(name, fact(getattr(value, name))) for name in kept]
        return (type(value), *facts, value.schedule.cycles_momentum if isinstance(value, Recipe) else None)
    if isinstance(value, np.ndarray):
        return (np.ndarray, value.dtype, value.shape, value.tobytes())
    return value  # type: ignore[no-any-return]


@cache
def _kept_fields(kind: type) -> tuple[str, ...] | None:
    """Return the fields of a dataclass that plans may depend on; None of any other type."""
    if not is_dataclass(kind):
        return None
    left_out = frozenset[str]().union(*(LEFT_OUT.get(parent, frozenset()) for parent in kind.__mro__))
    return tuple(item.name for item in fields(kind) if item.name not in left_out)


class Executors:
    """Executors that work on the same arrays, cached by a key."""

    def __init__(
        self, arrays: Mapping[str, Array], executor: str, threads: int | None = None, most: int | None = None
    ) -> None:
        """Bind plans to `arrays`.

        Args:
            arrays: the states of every plan, by name.
            executor: "numpy" or "native".
            threads: threads inside a plan.
            most: maximum number of cached executors, the most recently used; by default unlimited.
        """
        self._arrays = arrays
        self._bound = partial(bind, executor=executor, threads=threads)
        self._most = most
        self._found: OrderedDict[Hashable, NumpyExecutor] = OrderedDict()

    def of(self, key: Hashable, make: Callable[P, Plan], *args: P.args, **kwargs: P.kwargs) -> NumpyExecutor:
        """Return the executor of `make(*args, **kwargs)`, which `key` identifies."""
        found = self._found.get(key)
        if found is None:
            with rare_collections():
                found = self._found[key] = self._bound(cached_plan(make, *args, **kwargs), self._arrays)
            if self._most is not None and len(self._found) > self._most:
                self._found.popitem(last=False)
        elif self._most is not None:
            self._found.move_to_end(key)
        return found
