"""The actor of an attempt. Only Ray's own processes make one."""

from app.runner.cluster.host import AttemptHost


class AttemptActor(AttemptHost):
    """An attempt on a node of a Ray cluster."""

    def place(self) -> tuple[str, str | None]:
        """Return the id of the node, and why it must not run the attempt, None if it does."""
        import ray

        return ray.get_runtime_context().get_node_id(), self.unusable
