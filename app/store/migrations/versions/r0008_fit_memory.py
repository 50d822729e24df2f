"""What fits and sessions take of the memory, and which fits wait for it.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, which are null for all so far: it is not known what these take."""
    op.add_column("fits", sa.Column("memory_bytes", sa.BigInteger))
    op.create_index(
        "ix_fits_waits_for_memory",
        "fits",
        ["state", "priority", "id"],
        sqlite_where=sa.text("phase = 'waiting_for_memory'"),
        postgresql_where=sa.text("phase = 'waiting_for_memory'"),
    )
    op.add_column("sessions", sa.Column("memory_bytes", sa.BigInteger))
