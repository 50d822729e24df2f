"""Sessions, the datasets that they take rows of, and the checkpoints that they save.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables, and the columns of checkpoints, which are null for all so far."""
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("graph_id", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("ttl_seconds", sa.Float, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("runtime", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("checkpoint_id", sa.Text),
        sa.Column("bit_exact", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_graph_id", "sessions", ["graph_id"])
    op.create_index("ix_sessions_state_id", "sessions", ["state", "id"])
    op.create_table(
        "session_datasets",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("dataset_id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "dataset_id", name="pk_session_datasets"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="fk_session_datasets_session_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_session_datasets_dataset_id", "session_datasets", ["dataset_id"])
    op.add_column("checkpoints", sa.Column("session_id", sa.Text))
    op.add_column("checkpoints", sa.Column("session_seq", sa.BigInteger))
    op.create_index(
        "ix_checkpoints_session_id_session_seq",
        "checkpoints",
        ["session_id", "session_seq"],
        unique=True,
        sqlite_where=sa.text("session_id IS NOT NULL"),
        postgresql_where=sa.text("session_id IS NOT NULL"),
    )
