from typing import Literal

SweepSummaryMode = Literal["max", "min"]

SWEEP_SUMMARY_MODE_VALUES: set[SweepSummaryMode] = {
    "max",
    "min",
}


def check_sweep_summary_mode(value: str) -> SweepSummaryMode:
    if value in SWEEP_SUMMARY_MODE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {SWEEP_SUMMARY_MODE_VALUES!r}")
