from typing import Literal

PredictWithCheckpointFormatType0 = Literal["json", "npy"]

PREDICT_WITH_CHECKPOINT_FORMAT_TYPE_0_VALUES: set[PredictWithCheckpointFormatType0] = {
    "json",
    "npy",
}


def check_predict_with_checkpoint_format_type_0(value: str) -> PredictWithCheckpointFormatType0:
    if value in PREDICT_WITH_CHECKPOINT_FORMAT_TYPE_0_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {PREDICT_WITH_CHECKPOINT_FORMAT_TYPE_0_VALUES!r}")
