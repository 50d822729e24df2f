"""What a fit does about a loss that is not finite: until now it went on where its request did not say.

Fits are stopped by default from here on; those that are stored keep what they were submitted with, so that a resumed
one, an extension or a replay gives the same bits as before.

Frozen: a later change of the schema is a later revision.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

FITS = sa.table("fits", sa.column("id", sa.Text), sa.column("request", sa.Text))


def upgrade() -> None:
    """Write "continue" into every request that leaves the action out, unless `clip.nonfinite` says what happens."""
    connection = op.get_bind()
    for fit_id, text in connection.execute(sa.select(FITS.c.id, FITS.c.request)).all():
        request = _explicit(json.loads(text))
        if request is not None:
            stored = json.dumps(request, separators=(",", ":"))
            connection.execute(sa.update(FITS).where(FITS.c.id == fit_id).values(request=stored))


def _explicit(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the request with the action that it had by default, or None if it says one."""
    divergence, clip = request.get("divergence") or {}, request.get("clip") or {}
    nonfinite = clip.get("nonfinite") if isinstance(clip, dict) else None
    if divergence.get("action") is not None or (nonfinite or "apply") != "apply":
        return None
    return {**request, "divergence": {**divergence, "action": "continue"}}
