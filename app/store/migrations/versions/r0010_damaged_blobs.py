"""Blobs whose files are missing or damaged; and which sessions have files that must not be missing.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, and the flag of sessions, of which none is known to have begun so far."""
    op.create_table(
        "damaged_blobs",
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("found_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_damaged_blobs"),
    )
    op.add_column("sessions", sa.Column("begun", sa.Boolean, nullable=False, server_default=sa.false()))
