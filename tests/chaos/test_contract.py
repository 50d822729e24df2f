"""The contract under requests at every edge of its schemas, of which there are thousands (tests/app/api has a few)."""

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
# They are made up while tests are collected, which takes a while: beside other tests those of one operation do.
contract = few.schema if size() == "full" else few.schema.include(path="/v1/graphs", method="POST")


@contract.parametrize()
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
