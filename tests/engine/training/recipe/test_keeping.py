"""Which steps of a fit become rows."""

import engine
from tests.support.rows import each_row


@each_row(
    ("steps", "every"), [(1, 1), (9_999, 1), (10_000, 1), (10_001, 2), (20_000, 2), (20_001, 3), (10**9, 100_000)]
)
def test_a_fit_without_an_interval_makes_ten_thousand_rows_at_most(steps: int, every: int) -> None:
    assert engine.Record().every(steps) == every
    assert steps / every <= 10_000


def test_a_fit_with_an_interval_uses_it() -> None:
    assert engine.Record(every_steps=7).every(10**9) == 7
