from dataclasses import fields

import pytest
from sqlalchemy import Table

from app.domain.access import ApiKeyRecord
from app.domain.audit import AuditRecord
from app.domain.fit import Attempt, Event, FitRecord
from app.domain.records import CheckpointRecord, GraphRecord, IdempotencyRecord
from app.domain.session import SessionRecord
from app.store import tables

RECORDS = [
    (tables.graphs, GraphRecord),
    (tables.fits, FitRecord),
    (tables.attempts, Attempt),
    (tables.events, Event),
    (tables.checkpoints, CheckpointRecord),
    (tables.idempotency_keys, IdempotencyRecord),
    (tables.sessions, SessionRecord),
    (tables.api_keys, ApiKeyRecord),
    (tables.audit, AuditRecord),
]


@pytest.mark.parametrize(("table", "record"), RECORDS, ids=lambda value: getattr(value, "name", ""))
def test_the_columns_are_the_fields_of_the_record_in_their_order(table: Table, record: type) -> None:
    stored = [field.name for field in fields(record) if not field.metadata.get("computed")]
    assert [column.name for column in table.c] == stored
