"""Every limit, setting and error code is documented, and no limit that is gone."""

import re

from app.config.settings import Settings
from tools.docs.inventory import ROOT, UNSAID, codes, limits
from tools.docs.pages import REFERENCE

BOUNDS = re.compile(r"^max_|_max$|_bytes$|^session_workers$|^step_seconds$|^lease_seconds$")


def test_every_error_code_and_limit_is_described() -> None:
    pages = (REFERENCE / name for name in ("errors.md", "limits.md"))
    lacking = [line for page in pages for line in page.read_text("utf-8").splitlines() if UNSAID in line]
    assert not lacking, "describe these in docs/reference/errors.md or tools/docs/inventory.py"


def test_every_setting_that_bounds_something_is_a_limit() -> None:
    named = {limit.name for limit in limits()}
    assert not [
        name for name in Settings.model_fields if BOUNDS.search(name) and f"ADJOINT_{name.upper()}" not in named
    ]


def test_every_limit_names_a_test_that_exists() -> None:
    named = {limit.test for limit in limits()} - {UNSAID}
    assert named
    assert not [test for test in named if not (ROOT / test).exists()]


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
