"""Every limit, setting, error code and route is documented, and nothing that is gone."""

import re

import pytest

from app.config.settings import Settings
from tests.architecture.inventory import DOCS, DOCUMENTS, ROOT, UNSAID, codes, limits

WRITE = "run `python -m tests.architecture.inventory`"
BOUNDS = re.compile(r"^max_|_max$|_bytes$|^session_workers$|^step_seconds$|^lease_seconds$")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_tables_are_those_of_the_code(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == DOCUMENTS[name](), WRITE


@pytest.mark.parametrize("name", DOCUMENTS)
def test_something_is_said_of_everything(name: str) -> None:
    unsaid = [line for line in (DOCS / name).read_text("utf-8").splitlines() if UNSAID in line]
    assert not unsaid, f"say in deploy/reference/{name}, or in tests/architecture/inventory.py, what these mean"


def test_every_setting_that_bounds_something_is_a_limit() -> None:
    named = {limit.name for limit in limits()}
    assert not [
        name for name in Settings.model_fields if BOUNDS.search(name) and f"ADJOINT_{name.upper()}" not in named
    ]


@pytest.mark.parametrize("test", sorted({limit.test for limit in limits()} - {UNSAID}))
def test_every_limit_names_a_test_that_exists(test: str) -> None:
    assert (ROOT / test).exists()


def test_codes_that_limits_answer_are_codes() -> None:
    answered = {code for limit in limits() for code in re.findall(r"`(\w+)`", limit.answer)}
    assert answered
    assert answered <= codes().keys()


def test_the_codes_of_classes_and_calls_are_found() -> None:
    assert codes()["memory_exceeded"] == {"413", "in `errors`"}
    assert codes()["numerics_diverged"] == {"of a fit or session"}
    assert codes()["numerics_nonfinite"] == {"of the engine"}
    assert codes()["uri_too_long"] == {"414"}
    assert codes()["no_gradient"] == {"404", "of the engine"}
