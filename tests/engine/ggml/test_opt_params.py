"""The kinds of losses, optimizers and builds by name, and the domains of a step's numbers."""

import math

import pytest

from engine.core.errors import AttributeValueError
from engine.ggml.opt_params import (
    AdamWParameters,
    BuildType,
    LossType,
    OptimizerType,
    SGDParameters,
    default_opt_pars,
    parse_kind,
)
from tests.support.rows import each_row


@pytest.mark.parametrize("kinds", [LossType, OptimizerType, BuildType])
def test_kinds_are_known_by_name_number_and_ggmls_name(kinds):
    prefix = {LossType: "LOSS", OptimizerType: "OPTIMIZER", BuildType: "BUILD"}[kinds]
    for kind in kinds:
        for given in (kind, int(kind), kind.name, kind.name.lower(), f"GGML_OPT_{prefix}_TYPE_{kind.name}"):
            assert parse_kind(kinds, given) is kind


@each_row(
    ("kind", "numbers"),
    [
        (AdamWParameters, {"alpha": 0}),
        (AdamWParameters, {"beta1": 1.1}),
        (AdamWParameters, {"beta2": -0.1}),
        (AdamWParameters, {"eps": -1e-9}),
        (AdamWParameters, {"wd": 2}),
        (AdamWParameters, {"alpha": math.nan}),
        (SGDParameters, {"alpha": -1}),
        (SGDParameters, {"wd": 1.5}),
    ],
)
def test_numbers_of_a_step_are_checked_against_their_domains(kind, numbers):
    with pytest.raises(AttributeValueError, match=next(iter(numbers))):
        kind(**numbers)


def test_defaults_are_ggmls():
    numbers = default_opt_pars(1)
    assert numbers.adamw == AdamWParameters(alpha=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, wd=0)
    assert numbers.sgd == SGDParameters(alpha=1e-3, wd=0)
