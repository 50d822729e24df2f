"""Keep the labels of columns: what files call them, where that is no identifier.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the label; columns from before have none, and are called by their names."""
    op.add_column("dataset_columns", sa.Column("label", sa.Text))
