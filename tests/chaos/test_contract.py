"""The contract under requests at the edges of its schemas, of which there are thousands (tests/app/api has a few)."""

import random
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.core.errors import SerializationNotPossible
from schemathesis.specs.openapi import checks

from tests.app.api import test_schemathesis as few
from tests.chaos.conftest import size
from tests.support.server import ServerProcess

URI_TOO_LONG = 414


def unsupported_method(context: Any, response: Any, case: schemathesis.Case) -> bool | None:
    """Methods that the contract does not have are refused as such, unless their URL was too long to be read."""
    return None if response.status_code == URI_TOO_LONG else checks.unsupported_method(context, response, case)


# All but `positive_data_acceptance`: what is well-formed may still make no sense.
ALL_CHECKS = [
    *few.CHECKS,
    checks.response_headers_conformance,
    checks.allow_header_conformance,
    unsupported_method,
    checks.negative_data_rejection,
    checks.missing_required_header,
    checks.use_after_free,
    checks.ensure_resource_availability,
    checks.ignored_auth,
]
FEW = {
    "POST /v1/graphs": 80,
    "POST /v1/graphs/{graph_id}:gradcheck": None,
    "PATCH /v1/checkpoints/{checkpoint_id}": None,
}
"""Operations whose edges are sent beside other tests: how many, or all."""
EDGES_MAX = 500
"""Number of edges that are sent of each operation in `make chaos`, drawn from all: a graph has twenty thousand."""
EXAMPLES = 50
FULL = size() == "full"


@pytest.mark.parametrize("label", few.OPERATIONS if FULL else FEW)
def test_requests_at_the_edges_get_declared_answers(label: str, server: ServerProcess, chance: random.Random) -> None:
    operation = few.OPERATIONS[label]
    edges = operation.schema.iter_coverage_cases(
        operation,
        generation_modes=[few.GOOD, few.BAD],
        generation_config=operation.schema.config.generation_for(operation=operation),
    )
    chosen = [*edges] if FULL else [*islice(edges, FEW[label])]
    assert chosen
    for case in chance.sample(chosen, min(EDGES_MAX, len(chosen))):
        with suppress(SerializationNotPossible):  # Parquet and the like: tests/fuzz has bodies of these
            few.check(case, server, ALL_CHECKS)


@pytest.mark.parametrize(("label", "mode"), few.CASES if FULL else [])
def test_random_requests_get_declared_answers(label: str, mode: GenerationMode, server: ServerProcess) -> None:
    @given(few.OPERATIONS[label].as_strategy(mode))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def answered(case: schemathesis.Case) -> None:
        few.check(case, server, ALL_CHECKS)

    answered()
