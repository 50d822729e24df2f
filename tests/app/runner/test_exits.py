import signal

import pytest

from app.runner.exits import classify


@pytest.mark.parametrize(
    ("status", "reason", "word"),
    [
        (0, "finished", "by itself"),
        (1, "blas_abort", "linear algebra"),
        (137, "out_of_memory", "memory"),
        (-signal.SIGKILL, "killed", "SIGKILL"),
        (-signal.SIGSEGV, "error", "SIGSEGV"),
        (-signal.SIGBUS, "error", "SIGBUS"),
        (-signal.SIGABRT, "error", "SIGABRT"),
        (-120, "error", "signal 120"),
        (70, "error", "exit code 70"),
    ],
)
def test_the_end_of_a_process_has_a_reason_and_words(status: int, reason: str, word: str) -> None:
    found, detail = classify(status)
    assert found == reason
    assert word in detail


def test_a_process_that_is_killed_when_memory_runs_out_was_killed_by_the_system() -> None:
    assert classify(-signal.SIGKILL, memory_ran_out=True)[0] == "out_of_memory"
    assert classify(-signal.SIGSEGV, memory_ran_out=True)[0] == "error"
    assert "does not tell" in classify(-signal.SIGKILL, memory_ran_out=None)[1]
