"""Requests that schemathesis makes up of the contract, and checks of their answers.

It takes half a second to load, and each process loads the modules of all tests: those of tests import it when they
run, and get the names of its cases from tests/support/contract.py.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from tests.support.contract import ROOT
from tests.support.patience import PATIENCE
from tests.support.server import ServerProcess

Check = Callable[..., Any]
CHECKS: list[Check] = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
URI_TOO_LONG = 414


def unsupported_method(context: Any, response: Any, case: schemathesis.Case) -> bool | None:
    """Methods that the contract does not have are refused as such, unless their URL was too long to be read."""
    return None if response.status_code == URI_TOO_LONG else checks.unsupported_method(context, response, case)


# All but `positive_data_acceptance`: what is well-formed may still make no sense.
ALL_CHECKS = [
    *CHECKS,
    checks.response_headers_conformance,
    checks.allow_header_conformance,
    unsupported_method,
    checks.negative_data_rejection,
    checks.missing_required_header,
    checks.use_after_free,
    checks.ensure_resource_availability,
    checks.ignored_auth,
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

REFUSING = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429, 431]
"""Answers to a request that breaks the contract: also those of one that is too large before it is anything else."""
CONFIG = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": REFUSING}}})
schema = (
    schemathesis.openapi.from_path(ROOT / "clients/openapi.json", config=CONFIG)
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


def check(case: schemathesis.Case, server: ServerProcess, made: Sequence[Check] = CHECKS) -> None:
    """Send a request; fail if the contract does not declare the answer."""
    if case.query and "wait" in case.query:
        case.query["wait"] = 0
    case.call_and_validate(base_url=server.url, checks=[*made], timeout=PATIENCE)
