"""An attempt whose replicas have an actor each, as the bridge sees it: the actor of rank 0, and a placement group."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from app.runner.cluster.follower import LOST, Follower, resources_of
from app.runner.cluster.host import AttemptHost
from app.runner.cluster.protocol import Ended, Start, StartReplicas


class ReplicaFollower(Follower):
    """Follows the actor of rank 0; the placement group that it is in is removed with it, which ends the others."""

    async def kill(self) -> None:
        """See `Follower`; what is left on other nodes is ended too."""
        await super().kill()
        await asyncio.to_thread(remove_group, self._token)

    async def forget(self) -> None:
        """See `Follower`."""
        await super().forget()
        await asyncio.to_thread(remove_group, self._token)

    def _actor_type(self) -> type[AttemptHost]:
        from app.runner.cluster.replica_actor import ReplicatedActor

        return ReplicatedActor

    def _placement(self, order: Start) -> dict[str, Any]:
        """Return the options of the first actor, for which a placement group is made: on any but avoided nodes."""
        from ray.util import placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        assert isinstance(order, StartReplicas)
        remove_group(order.token)  # of an earlier try, on other nodes
        memory = {} if order.memory_bytes is None else {"memory": float(order.memory_bytes)}
        group = placement_group(
            [{"CPU": float(order.cpus), **memory}] * order.replicas,
            strategy=order.strategy,
            name=order.token,
            lifetime="detached",
            bundle_label_selector=[self._selector] * order.replicas if self._selector else None,
        )
        first = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
        return {**resources_of(order), "scheduling_strategy": first}

    def _tell_end(self, ended: Ended) -> None:
        if ended.lost_node is not None:
            self._nodes.avoid(ended.lost_node, LOST)
        super()._tell_end(ended)


def list_groups() -> frozenset[str]:
    """Return the names of the placement groups of the whole cluster; they are the tokens of attempts."""
    import ray

    return frozenset(each["name"] for each in ray.util.placement_group_table().values() if each["state"] != "REMOVED")


def remove_groups(names: Collection[str]) -> None:
    """Remove the placement groups of these names that are in the namespace of this process."""
    for name in names:
        remove_group(name)


def remove_group(name: str) -> None:
    """Remove the placement group of an attempt, which ends its actors; nothing happens if it is gone."""
    import ray

    with suppress(ValueError):
        ray.util.remove_placement_group(ray.util.get_placement_group(name))
