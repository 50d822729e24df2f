"""Datasets that are made of others: what of, and how often rows were appended.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns: what there is so far was uploaded."""
    op.add_column("datasets", sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")))
    op.add_column("datasets", sa.Column("origin", sa.Text))
