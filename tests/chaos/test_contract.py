"""The contract under requests at the edges of its schemas, of which there are thousands (tests/app/api has a few)."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.chaos.conftest import size
from tests.support.contract import generated_cases
from tests.support.server import ServerProcess

if TYPE_CHECKING:
    import schemathesis

FEW = {
    "POST /v1/graphs": 80,
    "POST /v1/graphs/{graph_id}:gradcheck": None,
    "PATCH /v1/checkpoints/{checkpoint_id}": None,
}
"""Operations whose edges are sent beside other tests: how many, or all."""
EDGES_MAX = 500
"""Number of edges that are sent of each operation in `make chaos`, drawn from all: a graph has twenty thousand."""
EXAMPLES = 50
CASES = generated_cases()
FULL = size() == "full"


@pytest.mark.parametrize("label", [label for label, mode in CASES if mode == "positive"] if FULL else FEW)
def test_requests_at_the_edges_get_declared_answers(label: str, server: ServerProcess, chance: random.Random) -> None:
    from schemathesis.core.errors import SerializationNotPossible

    from tests.support import generated_requests as generated

    operation = generated.OPERATIONS[label]
    edges = operation.schema.iter_coverage_cases(
        operation,
        generation_modes=[generated.GOOD, generated.BAD],
        generation_config=operation.schema.config.generation_for(operation=operation),
    )
    chosen = [*edges] if FULL else [*islice(edges, FEW[label])]
    assert chosen
    for case in chance.sample(chosen, min(EDGES_MAX, len(chosen))):
        with suppress(SerializationNotPossible):  # Parquet and the like: tests/fuzz has bodies of these
            generated.check(case, server, generated.ALL_CHECKS)


@pytest.mark.parametrize(("label", "mode"), CASES if FULL else [])
def test_random_requests_get_declared_answers(label: str, mode: str, server: ServerProcess) -> None:
    from tests.support import generated_requests as generated

    @given(generated.OPERATIONS[label].as_strategy(generated.GenerationMode(mode)))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def answered(case: schemathesis.Case) -> None:
        generated.check(case, server, generated.ALL_CHECKS)

    answered()
