from collections.abc import Callable
from dataclasses import replace

import pytest

from app.domain.messages import Assignment, SessionAssignment
from app.domain.runtime import allot
from app.system.confinement import Confinement
from app.worker import resources as bounds
from app.worker.resources import (
    FILE_BYTES,
    MARGIN_BYTES,
    OTHER_THREADS,
    THREAD_BYTES,
    allow_columns,
    confine,
    mapped_bytes,
)

PRESENT = 1000
RUNTIME = allot({}, None, cores=1, workers=1)


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[Confinement]:
    """Return the confinements that this process would be in by now."""
    found: list[Confinement] = []
    monkeypatch.setattr(Confinement, "enter", lambda self: found.append(self))
    monkeypatch.setattr(bounds, "address_space_bytes", lambda: PRESENT)
    return found


def test_a_process_gets_its_estimate_its_rows_and_what_threads_reserve(
    assign: Callable[..., Assignment], entered: list[Confinement]
) -> None:
    assignment = replace(assign(), memory_bytes=5_000_000)
    rows = mapped_bytes(assignment)
    assert rows > 64 * 2 * 4
    confine(assignment, RUNTIME)
    confine(assignment, replace(RUNTIME, threads=3))
    least = PRESENT + 5_000_000 + rows + MARGIN_BYTES
    assert [each.memory_bytes for each in entered] == [
        least + (threads + OTHER_THREADS) * THREAD_BYTES for threads in (1, 3)
    ]
    assert {each.file_bytes for each in entered} == {5_000_000 + FILE_BYTES}


def test_where_the_system_does_not_show_what_there_is_memory_is_not_bounded(
    assign: Callable[..., Assignment], entered: list[Confinement], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "address_space_bytes", lambda: None)
    confine(replace(assign(), memory_bytes=1), RUNTIME)
    assert [each.memory_bytes for each in entered] == [None]


def test_a_process_of_which_nothing_is_known_is_not_bounded(
    assign: Callable[..., Assignment], entered: list[Confinement]
) -> None:
    confine(assign(), RUNTIME)
    assert entered == []


def test_rows_count_wherever_they_are_and_those_that_are_gone_do_not(assign: Callable[..., Assignment]) -> None:
    assignment = assign()
    once = mapped_bytes(assignment)
    assert mapped_bytes(replace(assignment, validation_columns=assignment.columns)) == 2 * once
    assert mapped_bytes(replace(assignment, columns={"x": ["/nowhere"]})) == 0
    session = SessionAssignment(
        "sess_1", 1, "t", "training", {}, {}, None, None, "", {"a": assignment.columns, "b": assignment.columns}, [], {}
    )
    assert mapped_bytes(session) == 2 * once


def test_later_rows_have_space_too(assign: Callable[..., Assignment], monkeypatch: pytest.MonkeyPatch) -> None:
    widened: list[int] = []
    monkeypatch.setattr(bounds, "widen", widened.append)
    assignment = assign()
    allow_columns(assignment.columns)
    assert widened == [mapped_bytes(assignment)]
