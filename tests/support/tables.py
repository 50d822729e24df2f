"""Tables of small cases: one test goes through all of them, and names those that fail."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")


def check_each(cases: Iterable[tuple[str, Case]], check: Callable[[Case], object]) -> None:
    """Call `check` with each case, whatever became of those before it; fail with what is wrong about which of them."""
    failed: list[str] = []
    for name, case in cases:
        try:
            check(case)
        except Exception as error:  # noqa: BLE001 (a test that fails by any other error fails as well)
            failed.append(f"{name}: {type(error).__name__}: {error}")
    assert not failed, f"{len(failed)} failed:\n" + "\n".join(failed)
