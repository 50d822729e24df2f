"""Plans bound to the arrays of one model, each made when it is first asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import ParamSpec

from engine.core.value import Array
from engine.execution.native import bind
from engine.execution.plan import NumpyExecutor, Plan
from engine.training.step.plan_cache import cached_plan

P = ParamSpec("P")


class Executors:
    """Executors that work on the same arrays, found again by a key."""

    def __init__(
        self, arrays: Mapping[str, Array], executor: str, threads: int | None = None, most: int | None = None
    ) -> None:
        """Bind plans to `arrays`.

        Args:
            arrays: the states of every plan, by name.
            executor: "numpy" or "native".
            threads: how many may work inside a plan.
            most: how many are kept, those asked for last; by default all.
        """
        self._arrays = arrays
        self._bound = partial(bind, executor=executor, threads=threads)
        self._most = most
        self._found: OrderedDict[Hashable, NumpyExecutor] = OrderedDict()

    def of(self, key: Hashable, make: Callable[P, Plan], *args: P.args, **kwargs: P.kwargs) -> NumpyExecutor:
        """Return what runs `make(*args, **kwargs)`, which `key` stands for."""
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._bound(cached_plan(make, *args, **kwargs), self._arrays)
            if self._most is not None and len(self._found) > self._most:
                self._found.popitem(last=False)
        elif self._most is not None:
            self._found.move_to_end(key)
        return found
