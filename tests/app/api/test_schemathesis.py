"""The whole contract under generated requests: whatever is sent, the answer is one that the contract declares."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.extent import FULL
from tests.support.patience import PATIENCE
from tests.support.server import ServerProcess

EXAMPLES = 3 if FULL else 1
Check = Callable[..., Any]
CHECKS: list[Check] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


BINARY = ("application/x-npy", "application/x-npz", "application/vnd.safetensors", "application/octet-stream")


def npy() -> bytes:
    """Return a good upload, so that not everything is refused."""
    buffer = io.BytesIO()
    np.save(buffer, np.arange(6.0, dtype=np.float32).reshape(3, 2))
    return buffer.getvalue()


for media_type in BINARY:
    schemathesis.openapi.media_type(media_type, st.binary(max_size=64) | st.just(npy()))
for media_type in ("text/csv", "application/x-ndjson"):
    schemathesis.openapi.media_type(media_type, st.text(max_size=64).map(str.encode) | st.just(b"x,y\n1,2\n"))

CONTRACT = Path(__file__).parents[3] / "clients" / "openapi.json"
REFUSING = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429, 431]
"""Answers to a request that breaks the contract: also those of one that is too large before it is anything else."""
CONFIG = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": REFUSING}}})
schema = (
    schemathesis.openapi.from_path(CONTRACT, config=CONFIG)
    .exclude(path_regex="/events$")  # streams have tests of their own
    .exclude(path="/v1/keys", method="POST")  # the first key would shut all others out of the server that they share
)
OPERATIONS = {operation.label: operation for operation in (found.ok() for found in schema.get_all_operations())}
GOOD, BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
CASES = [
    *((label, GOOD) for label in OPERATIONS),
    # A request without a query and a body cannot be bad.
    *((label, BAD) for label, operation in OPERATIONS.items() if operation.query or operation.body),
]


def check(case: schemathesis.Case, server: ServerProcess, checks: Sequence[Check] = CHECKS) -> None:
    """Send a request; fail if the contract does not declare the answer."""
    if case.query and "wait" in case.query:
        case.query["wait"] = 0
    case.call_and_validate(base_url=server.url, checks=[*checks], timeout=PATIENCE)


# `schema.parametrize` would make thousands of requests up while tests are collected, in each process, and give all
# operations the name of one test, of which xdist runs one. tests/chaos has those requests.
@pytest.mark.slow
@pytest.mark.parametrize(("label", "mode"), CASES)
def test_every_answer_is_one_the_contract_declares(label: str, mode: GenerationMode, server: ServerProcess) -> None:
    @given(OPERATIONS[label].as_strategy(mode))
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
