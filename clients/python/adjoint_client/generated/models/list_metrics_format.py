from typing import Literal

ListMetricsFormat = Literal["csv", "json", "ndjson"]

LIST_METRICS_FORMAT_VALUES: set[ListMetricsFormat] = {
    "csv",
    "json",
    "ndjson",
}


def check_list_metrics_format(value: str) -> ListMetricsFormat:
    if value in LIST_METRICS_FORMAT_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_METRICS_FORMAT_VALUES!r}")
