from typing import Literal

KeyRequestScopesItem = Literal["admin", "read", "train"]

KEY_REQUEST_SCOPES_ITEM_VALUES: set[KeyRequestScopesItem] = {
    "admin",
    "read",
    "train",
}


def check_key_request_scopes_item(value: str) -> KeyRequestScopesItem:
    if value in KEY_REQUEST_SCOPES_ITEM_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {KEY_REQUEST_SCOPES_ITEM_VALUES!r}")
