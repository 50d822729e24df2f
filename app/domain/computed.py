"""Fields of records that are computed from other tables when a record is read, and are no column of its own table."""

from collections.abc import Mapping
from types import MappingProxyType

COMPUTED: Mapping[str, bool] = MappingProxyType({"computed": True})
"""The metadata of such a field; see `app.store.rows.values_of`."""
