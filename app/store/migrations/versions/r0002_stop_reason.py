"""Why a fit ended before its last step.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; that of earlier fits is unknown."""
    op.add_column("fits", sa.Column("stop_reason", sa.Text))
