from typing import Literal

NewApiKeyScopesItem = Literal["admin", "read", "train"]

NEW_API_KEY_SCOPES_ITEM_VALUES: set[NewApiKeyScopesItem] = {
    "admin",
    "read",
    "train",
}


def check_new_api_key_scopes_item(value: str) -> NewApiKeyScopesItem:
    if value in NEW_API_KEY_SCOPES_ITEM_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {NEW_API_KEY_SCOPES_ITEM_VALUES!r}")
