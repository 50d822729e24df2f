"""Several servers on one database: which there are, which of them runs fits, and which runs a session.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, which are empty with one server."""
    op.create_table(
        "servers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("terms", sa.Text, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("heartbeat_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "leadership",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "discarded_blobs",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("discarded_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_discarded_blobs_discarded_at", "discarded_blobs", ["discarded_at"])
    op.add_column("sessions", sa.Column("server", sa.Text, nullable=False, server_default=sa.text("''")))
