"""The whole contract under generated requests: whatever is sent, the answer is one that the contract declares."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.extent import FULL
from tests.support.contract import generated_cases
from tests.support.server import ServerProcess

if TYPE_CHECKING:
    import schemathesis

EXAMPLES = 3 if FULL else 1


def selected_cases() -> list[tuple[str, str]]:
    """Return all cases for `make chaos`; else one for each operation, positive and negative in turn."""
    if FULL:
        return generated_cases()
    modes = defaultdict(list)
    for label, mode in generated_cases():
        modes[label].append(mode)
    return [(label, found[place % len(found)]) for place, (label, found) in enumerate(modes.items())]


def test_the_cases_are_those_of_all_operations() -> None:
    from tests.support.generated_requests import CASES

    assert [(label, mode.value) for label, mode in CASES] == generated_cases()


# `schema.parametrize` would make thousands of requests up while tests are collected, in each process, and give all
# operations the name of one test, of which xdist runs one. tests/chaos has those requests.
@pytest.mark.slow
@pytest.mark.parametrize(("label", "mode"), selected_cases())
def test_every_answer_is_one_the_contract_declares(label: str, mode: str, server: ServerProcess) -> None:
    from tests.support.generated_requests import OPERATIONS, GenerationMode, check

    @given(OPERATIONS[label].as_strategy(GenerationMode(mode)))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def answered(case: schemathesis.Case) -> None:
        check(case, server)

    answered()
