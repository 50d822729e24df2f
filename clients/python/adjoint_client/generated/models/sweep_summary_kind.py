from typing import Literal

SweepSummaryKind = Literal["grid", "halving", "random"]

SWEEP_SUMMARY_KIND_VALUES: set[SweepSummaryKind] = {
    "grid",
    "halving",
    "random",
}


def check_sweep_summary_kind(value: str) -> SweepSummaryKind:
    if value in SWEEP_SUMMARY_KIND_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SWEEP_SUMMARY_KIND_VALUES!r}")
