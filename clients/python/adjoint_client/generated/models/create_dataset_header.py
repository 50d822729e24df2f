from typing import Literal

CreateDatasetHeader = Literal["auto", "false", "true"]

CREATE_DATASET_HEADER_VALUES: set[CreateDatasetHeader] = {
    "auto",
    "false",
    "true",
}


def check_create_dataset_header(value: str) -> CreateDatasetHeader:
    if value in CREATE_DATASET_HEADER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CREATE_DATASET_HEADER_VALUES!r}")
