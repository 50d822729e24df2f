"""Ending the actor of an attempt. Runs in the bridge process."""

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

CLOSE_SECONDS = 4.0
"""How long an actor may take to end its process and to delete its files."""

KILL_SECONDS = 5.0
"""How long to wait until Ray has taken note that an actor is to be killed."""


async def close_actor(actor: Any) -> bool:
    """Have the actor end its process and delete its files, and kill it then; return whether it has answered.

    It is killed without an answer after CLOSE_SECONDS.
    """
    try:
        await asyncio.wait_for(_result(actor.close.remote()), CLOSE_SECONDS)
    except Exception:  # noqa: BLE001 (Ray raises whatever the node has raised)
        return False
    else:
        return True
    finally:
        await kill_actor(actor)


async def kill_actor(actor: Any) -> None:
    """Kill the actor, which leaves its files behind: the next attempt on its node deletes them."""
    import ray

    with suppress(Exception):
        await asyncio.wait_for(asyncio.to_thread(partial(ray.kill, actor, no_restart=True)), KILL_SECONDS)


async def _result(reference: Any) -> Any:
    return await reference
