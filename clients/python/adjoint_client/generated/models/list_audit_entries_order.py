from typing import Literal

ListAuditEntriesOrder = Literal["asc", "desc"]

LIST_AUDIT_ENTRIES_ORDER_VALUES: set[ListAuditEntriesOrder] = {
    "asc",
    "desc",
}


def check_list_audit_entries_order(value: str) -> ListAuditEntriesOrder:
    if value in LIST_AUDIT_ENTRIES_ORDER_VALUES:
        return value
    raise TypeError(f"Unexpected value {value!r}. Expected one of {LIST_AUDIT_ENTRIES_ORDER_VALUES!r}")
