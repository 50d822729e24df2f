"""From a record of the domain to the values of a row. The way back is `Record(*row)`: columns stand in field order."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def values_of(record: "DataclassInstance") -> dict[str, Any]:
    """Return the record's fields by name, not copied (`dataclasses.asdict` would copy every nested dict).

    Those that are computed when a record is read (`app.domain.records`) are left out.
    """
    return {field.name: getattr(record, field.name) for field in fields(record) if not field.metadata.get("computed")}
