"""Find equal graphs: fits and sessions share the graph that they bring inline.

Frozen: a later change of the schema is a later revision.
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add an index on the digests of graphs."""
    op.create_index("ix_graphs_digest", "graphs", ["digest"])
