"""Optimizer steps of a session, each with optional overrides."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from engine.core.errors import DocumentError, EngineError, Finding, NumericalError
from engine.graph.trace import KEY
from engine.optim.groups import ParameterGroups, override_options, read_rate
from engine.session.results import UpdateResult
from engine.session.state import PLANS, SessionState
from engine.training.recipe.recipe import Recipe
from engine.training.step.names import CLIPPED, FINITE, rate_input
from engine.training.step.plan_cache import fact
from engine.training.step.plans import plan_update
from engine.training.train_state import StateLayout

Options = Mapping[str, Any]

FED = {"lr"}
"""Options that every plan of an update is fed."""


class OptimizerSteps:
    """Steps by the gradients that have been added up."""

    def __init__(self, work: SessionState, recipe: Recipe) -> None:
        """Step the arrays of `work` as the recipe's optimizer and limits say."""
        self._work = work
        self._recipe = recipe
        self._rates = [group.optimizer.lr for group in recipe.groups.groups]
        self._forms: dict[Hashable, StateLayout] = {}

    def step(self, key: tuple[int, int], given: Options) -> UpdateResult:
        """Take a step with options that replace the optimizer's; `key` holds the seed and the number of earlier steps.

        Every vector lies in its whole among those that have gradients, or has none.

        Raises:
            DocumentError: an unknown option, or one that does not suit.
            NumericalError: a gradient is not finite, and that is to be an error; nothing has been changed then.
        """
        work = self._work
        rates, facts, form = self._options(given)
        flat_groups = work.flats_of(work.reached)
        if not flat_groups:
            return UpdateResult(key[1], 0.0, {}, clipped=False, taken=False)
        executor = work.executors.of(
            ("update", tuple(flat.name for flat in flat_groups), facts),
            plan_update,
            form,
            self._recipe,
            flat_groups,
            "sum",
            tells_clipping=True,
        )
        executor.inputs[KEY][...] = key
        for place, rate in enumerate(rates):
            if rate_input(place) in executor.inputs:
                executor.inputs[rate_input(place)][...] = rate
        found = work.gradients()
        executor.run()
        finite = bool(executor.outputs[FINITE]) if FINITE in executor.outputs else True
        if not finite and self._recipe.nonfinite == "stop" and not self._recipe.scaled:
            detail = f"the gradients are not finite, their norm is {found.norm}"
            raise NumericalError(f"{detail}; nothing was changed: call zero_grad and go on with other rows")
        clipped = bool(executor.outputs[CLIPPED]) if CLIPPED in executor.outputs else False
        return UpdateResult(key[1] + finite, found.norm, found.norms, clipped, finite)

    def _options(self, given: Options) -> tuple[list[float], Hashable, StateLayout]:
        """Return the rate of each group, what else of the options a plan depends on, and the model under them."""
        own = self._recipe.groups
        if given.keys() <= FED:
            rates = [read_rate(given["lr"])] * len(own.groups) if given else self._rates
            return rates, *self._form(own)
        groups = override_options(own, given)
        return [group.optimizer.lr for group in groups.groups], *self._form(groups)

    def _form(self, groups: ParameterGroups) -> tuple[Hashable, StateLayout]:
        """Return what of the groups a plan depends on, and the model under their optimizers."""
        facts = fact(groups) if groups is not self._recipe.groups else None
        if facts not in self._forms:
            if len(self._forms) >= PLANS:
                self._forms.pop(next(iter(self._forms)))
            try:
                self._forms[facts] = self._work.model.stepped_by(groups)
            except EngineError as error:
                raise DocumentError([Finding("", error.code, str(error))]) from error
        return facts, self._forms[facts]
