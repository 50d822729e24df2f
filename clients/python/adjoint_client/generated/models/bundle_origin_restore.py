from typing import Literal

BundleOriginRestore = Literal["all", "parameters"]

BUNDLE_ORIGIN_RESTORE_VALUES: set[BundleOriginRestore] = {
    "all",
    "parameters",
}


def check_bundle_origin_restore(value: str) -> BundleOriginRestore:
    if value in BUNDLE_ORIGIN_RESTORE_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {BUNDLE_ORIGIN_RESTORE_VALUES!r}")
