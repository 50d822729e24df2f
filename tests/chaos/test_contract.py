"""The contract under requests at every edge of its schemas, of which there are thousands (tests/app/api has a few)."""

from itertools import islice

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi import checks

from tests.app.api import test_schemathesis as few
from tests.chaos.conftest import size
from tests.support.server import ServerProcess

# All but `positive_data_acceptance`: what is well-formed may still make no sense.
ALL_CHECKS = [
    *few.CHECKS,
    checks.response_headers_conformance,
    checks.allow_header_conformance,
    checks.unsupported_method,
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
"""Operations whose edges are sent beside other tests: how many, or all. A graph alone has twenty thousand."""

if size() == "full":

    @few.schema.parametrize()
    @settings(
        max_examples=50,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def test_every_answer_is_one_the_contract_declares(case: schemathesis.Case, server: ServerProcess) -> None:
        few.check(case, server, ALL_CHECKS)

else:
    # `parametrize` would make all of them up while tests are collected, in every process.
    @pytest.mark.parametrize("label", FEW)
    def test_every_answer_is_one_the_contract_declares(label: str, server: ServerProcess) -> None:
        operation = few.OPERATIONS[label]
        edges = operation.schema.iter_coverage_cases(
            operation,
            generation_modes=[few.GOOD, few.BAD],
            generation_config=operation.schema.config.generation_for(operation=operation),
        )
        sent = [few.check(case, server, ALL_CHECKS) for case in islice(edges, FEW[label])]
        assert sent
