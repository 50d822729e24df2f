"""Names of fits and sessions, and indexes for lists by name and time of creation.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

NEWLY_NAMED = ("fits", "sessions")
NAMED = ("graphs", "datasets", *NEWLY_NAMED)


def upgrade() -> None:
    """Add the columns, empty: what there is so far has no name; and the indexes."""
    for table in NEWLY_NAMED:
        op.add_column(table, sa.Column("name", sa.Text, nullable=False, server_default=sa.text("''")))
    for table in NAMED:
        op.create_index(f"ix_{table}_tenant_name_id", table, ["tenant", "name", "id"])
    for table in (*NAMED, "checkpoints"):
        op.create_index(f"ix_{table}_tenant_created_at", table, ["tenant", "created_at"])
