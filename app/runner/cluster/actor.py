"""The actors of attempts. Only Ray's own processes make them."""

import os

from app.runner.cluster.host import AttemptHost
from app.runner.cluster.session_host import SessionHost


class _Placed:
    unusable: str | None

    def place(self) -> tuple[str, str | None]:
        """Return the id of the node, and why it must not run the attempt, None if it does."""
        import ray

        return ray.get_runtime_context().get_node_id(), self.unusable


class AttemptActor(_Placed, AttemptHost):
    """An attempt at a fit on a node of a Ray cluster."""


class SessionActor(_Placed, SessionHost):
    """An attempt at a session on a node of a Ray cluster."""

    def leave(self) -> None:
        """End this process, which nobody has asked for anything for too long."""
        os._exit(0)
