"""Sweeps: which fits are variants of which, and a queue without them.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, which are null for all fits so far, and create the queue's index again."""
    op.add_column("fits", sa.Column("parent_id", sa.Text))
    op.add_column("fits", sa.Column("variant", sa.Text))
    op.add_column("fits", sa.Column("sweep", sa.Text))
    op.create_index("ix_fits_parent_id", "fits", ["parent_id"])
    op.drop_index("ix_fits_turn", "fits")
    op.create_index(
        "ix_fits_turn",
        "fits",
        ["state", sa.text("priority DESC"), "id"],
        sqlite_where=sa.text("parent_id IS NULL"),
        postgresql_where=sa.text("parent_id IS NULL"),
    )
