"""The log is text for people in a terminal, and JSON for programs elsewhere, unless a setting says which."""

import json
import logging
from collections.abc import Iterator

import pytest

from app.system.log import LogFormat, configure_log


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root, library = logging.getLogger(), logging.getLogger("uvicorn.error")
    before = (root.level, root.handlers[:], library.level, library.filters[:])
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    library.setLevel(before[2])
    library.filters[:] = before[3]


@pytest.mark.parametrize(
    ("log_format", "in_terminal", "is_json"),
    [("auto", True, False), ("auto", False, True), ("json", True, True), ("text", False, False)],
)
def test_the_format_is_that_of_the_terminal_or_the_setting(
    log_format: LogFormat,
    in_terminal: bool,
    is_json: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: in_terminal)
    configure_log("info", log_format)
    logging.getLogger("adjoint.access").info("request\x1b[2J", extra={"status": 200, "route": "/v1/\x07"})
    (line,) = capsys.readouterr().err.splitlines()
    if is_json:
        found = json.loads(line)
        assert (found["text"], found["status"], found["level"]) == ("request\x1b[2J", 200, "info")
    else:
        assert line.endswith(r"INFO    adjoint.access: request\x1b[2J  status=200  route=/v1/\x07")


@pytest.mark.parametrize(("level", "lines"), [("info", 1), ("error", 0)])
def test_requests_that_a_stop_cuts_off_are_a_warning(
    level: str, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_log(level, "json")
    logging.getLogger("uvicorn.error").error("Cancel %s running task(s), timeout graceful shutdown exceeded", 1)
    found = [json.loads(line)["level"] for line in capsys.readouterr().err.splitlines()]
    assert found == ["warning"] * lines
