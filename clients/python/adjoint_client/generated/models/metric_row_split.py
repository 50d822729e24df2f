from typing import Literal

MetricRowSplit = Literal["train", "validation"]

METRIC_ROW_SPLIT_VALUES: set[MetricRowSplit] = {
    "train",
    "validation",
}


def check_metric_row_split(value: str) -> MetricRowSplit:
    if value in METRIC_ROW_SPLIT_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {METRIC_ROW_SPLIT_VALUES!r}")
