"""Processes of xdist report what does not pass, whatever else they leave out."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import reporting

LOCATION = ("test_a.py", 0, "test_a")
KEYWORDS = {"test_a": 1}


def _report(when: Any, outcome: Any) -> pytest.TestReport:
    return pytest.TestReport("test_a.py::test_a", LOCATION, KEYWORDS, outcome, None, when)  # type: ignore[arg-type]


def _item(sent: list[pytest.TestReport], **options: Any) -> Any:
    option = SimpleNamespace(**{"durations": None, "xmlpath": None, **options})
    config = SimpleNamespace(option=option, workerinput={})
    return SimpleNamespace(
        config=config, ihook=SimpleNamespace(pytest_runtest_logreport=lambda report: sent.append(report))
    )


@pytest.mark.parametrize(
    ("outcomes", "left"),
    [
        ({"setup": "passed", "call": "passed", "teardown": "passed"}, ["call"]),
        ({"setup": "passed", "call": "failed", "teardown": "passed"}, ["call"]),
        ({"setup": "passed", "call": "skipped", "teardown": "passed"}, ["call"]),
        ({"setup": "failed", "teardown": "passed"}, ["setup"]),
        ({"setup": "skipped", "teardown": "passed"}, ["setup"]),
        ({"setup": "passed", "call": "passed", "teardown": "failed"}, ["call", "teardown"]),
        ({"setup": "passed", "call": "failed", "teardown": "failed"}, ["call", "teardown"]),
        ({"setup": "failed", "teardown": "failed"}, ["setup", "teardown"]),
    ],
)
def test_what_does_not_pass_is_reported(
    outcomes: dict[str, str], left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = [_report(when, outcome) for when, outcome in outcomes.items()]
    monkeypatch.setattr(reporting, "runtestprotocol", lambda item, *, log, nextitem: reports)
    sent: list[pytest.TestReport] = []
    assert reporting.run_test(_item(sent), None)
    assert [(report.when, report.outcome) for report in sent] == [(when, outcomes[when]) for when in left]
    assert all(report.keywords == KEYWORDS for report in sent if not report.passed)


@pytest.mark.parametrize("options", [{"durations": 0}, {"xmlpath": "junit.xml"}])
def test_all_reports_are_left_to_pytest_where_they_are_wanted(options: dict[str, Any]) -> None:
    assert reporting.run_test(_item([], **options), None) is None
