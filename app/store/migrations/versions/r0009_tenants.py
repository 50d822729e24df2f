"""Tenants: whose each graph, dataset, fit, checkpoint, session and kept answer is.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

OWNED = ("graphs", "datasets", "fits", "checkpoints", "sessions")


def upgrade() -> None:
    """Add the columns: all that there is so far belongs to the default tenant, as all keys do."""
    for table in OWNED:
        op.add_column(table, _tenant())
        op.create_index(f"ix_{table}_tenant_id", table, ["tenant", "id"])
    op.drop_index("ix_fits_turn", "fits")
    op.create_index(
        "ix_fits_turn",
        "fits",
        ["state", "tenant", "share", sa.text("priority DESC"), "id", "parent_id"],
        sqlite_where=sa.text("parent_id IS NULL"),
        postgresql_where=sa.text("parent_id IS NULL"),
    )
    op.execute("UPDATE shares SET name = 'default/' || name")
    # Two tenants may choose the same key for their requests; SQLite needs a new table for that.
    op.drop_index("ix_idempotency_keys_created_at", "idempotency_keys")
    op.rename_table("idempotency_keys", "idempotency_keys_before")
    if op.get_bind().dialect.name == "postgresql":  # where names of keys are those of indexes, one of each in a schema
        op.execute("ALTER INDEX pk_idempotency_keys RENAME TO pk_idempotency_keys_before")
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("body_digest", sa.Text, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("response_body", sa.Text, nullable=False),
        sa.Column("resource_id", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        _tenant(),
        sa.PrimaryKeyConstraint("tenant", "scope", "key", name="pk_idempotency_keys"),
    )
    op.execute(
        "INSERT INTO idempotency_keys (scope, key, body_digest, status, response_body, resource_id, created_at) "
        "SELECT scope, key, body_digest, status, response_body, resource_id, created_at FROM idempotency_keys_before"
    )
    op.drop_table("idempotency_keys_before")
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])


def _tenant() -> sa.Column[str]:
    return sa.Column("tenant", sa.Text, nullable=False, server_default=sa.text("'default'"))
