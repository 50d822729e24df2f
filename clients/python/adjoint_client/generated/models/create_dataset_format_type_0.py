from typing import Literal

CreateDatasetFormatType0 = Literal["csv", "json", "ndjson", "npy", "npz", "parquet", "safetensors"]

CREATE_DATASET_FORMAT_TYPE_0_VALUES: set[CreateDatasetFormatType0] = {
    "csv",
    "json",
    "ndjson",
    "npy",
    "npz",
    "parquet",
    "safetensors",
}


def check_create_dataset_format_type_0(value: str) -> CreateDatasetFormatType0:
    if value in CREATE_DATASET_FORMAT_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {CREATE_DATASET_FORMAT_TYPE_0_VALUES!r}")
