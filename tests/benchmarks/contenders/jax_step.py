"""JAX: a jitted step with donated buffers, or a scan over the whole pool in one call; several models by vmap."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from tests.benchmarks.families import Columns
from tests.benchmarks.protocol import Make, Missing, Steps, serve
from tests.benchmarks.workloads import POOL, Workload


class State(NamedTuple):
    """Everything that a step changes."""

    weights: Any
    first: Any
    second: Any
    statistics: Any
    step: Any


class JaxStep(Steps):
    """A training step, called by Python or scanned."""

    def __init__(self, workload: Workload, weights: Columns, *, scanned: bool) -> None:
        """Compile nothing yet."""
        import jax
        import jax.numpy as jnp

        from tests.benchmarks.contenders.jax_models import statistics, stored

        self.version = jax.__version__
        self.setting = "a pool a call" if scanned else "donated buffers"
        self._scanned = scanned
        update = make_update(workload)
        started = stored(weights)
        zeros = partial(jax.tree.map, jnp.zeros_like)
        self._state = State(started, zeros(started), zeros(started), statistics(workload.model, weights), jnp.zeros(()))
        if workload.copies > 1:
            self._state = self._state._replace(step=jnp.zeros(workload.copies))
            update = jax.vmap(update, in_axes=(0, None))
        self._update = jax.jit(update, donate_argnums=0)
        # Without 64-bit types integers are 32 bits wide, which is what JAX would make of them anyway.
        batches = [
            {n: a.astype("int32") if a.dtype.kind == "i" else a for n, a in batch.items()}
            for batch in workload.batches()
        ]
        self._batches = [{n: jnp.asarray(a) for n, a in batch.items()} for batch in batches]
        self._pool = {n: jnp.stack([batch[n] for batch in self._batches]) for n in batches[0]}
        self._along = jax.jit(lambda state, pool: jax.lax.scan(update, state, pool), donate_argnums=0)
        self._step = 0

    def run(self, steps: int) -> tuple[int, float]:
        """Step along the pool; a scan goes through all of it each time."""
        if not self._scanned:
            for _ in range(steps):
                self._state, loss = self._update(self._state, self._batches[self._step % POOL])
                self._step += 1
            return steps, float(loss.mean())
        pools = -(-steps // POOL)
        for _ in range(pools):
            self._state, losses = self._along(self._state, self._pool)
        return pools * POOL, float(losses[-1].mean())


def make_update(workload: Workload) -> Any:
    """Return the function from a state and a batch to the next state and the loss before it."""
    import jax
    import jax.numpy as jnp

    from tests.benchmarks.contenders.jax_models import model
    from tests.benchmarks.contenders.jax_probabilistic import evidence_bound, marginal_likelihood, mixture
    from tests.benchmarks.contenders.jax_speech import ctc_loss

    scores = model(workload.model)

    def cross_entropy(created: Any, label: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(created, -1), label[..., None], -1).mean()

    measure: Callable[[Any, Any], Any] = {
        "cross_entropy": cross_entropy,
        "binary_cross_entropy_with_logits": lambda created, label: (jax.nn.softplus(created) - created * label).mean(),
        "ctc_loss": lambda created, label: ctc_loss(created[0], label, created[1]),
        "mse": lambda created, label: ((created - label) ** 2).mean(),
        "marginal_likelihood": marginal_likelihood,
        "mixture": mixture,
        "evidence_bound": evidence_bound,
    }[workload.model.loss]

    def narrowed(tree: Any) -> Any:
        """Cast what is float32 to bfloat16, in mixed precision: all but the loss and the update is computed in it."""
        if not workload.mixed:
            return tree
        return jax.tree.map(lambda x: x.astype(jnp.bfloat16) if x.dtype == jnp.float32 else x, tree)

    def loss(weights: Any, statistics: Any, label: Any, **inputs: Any) -> Any:
        created, statistics = scores(narrowed(weights), statistics, *narrowed(inputs).values())
        return measure(created.astype(jnp.float32) if workload.mixed else created, label), statistics

    def update(state: State, batch: dict[str, Any]) -> tuple[State, Any]:
        # Keyword arguments arrive sorted by name, dicts through jit too: pick the inputs by their own order.
        inputs = {name: batch[name] for name in ("x", "numbers", "padding", "lengths", "noise") if name in batch}
        derive = jax.value_and_grad(loss, has_aux=True)
        (value, statistics), slope = derive(state.weights, state.statistics, batch["label"], **inputs)
        step = state.step + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.first, slope)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state.second, slope)
        rate, spread = workload.lr / (1 - 0.9**step), 1 / (1 - 0.999**step)

        def moved(w: Any, m: Any, v: Any) -> Any:
            shrunk = w * (1 - workload.lr * workload.decay)
            return (shrunk - rate * m / (jnp.sqrt(v * spread) + 1e-8)).astype(w.dtype)

        weights = jax.tree.map(moved, state.weights, first, second)
        return State(weights, first, second, statistics, step), value

    return update


def build(workload: Workload, weights: Columns, arguments: argparse.Namespace) -> list[Make]:
    """Offer what was asked for."""
    if arguments.mode not in ("jit", "scan"):
        raise Missing(f"there is no mode {arguments.mode!r}")
    if arguments.threads == 1:
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import jax

    jax.config.update("jax_enable_x64", workload.dtype == "float64")
    return [lambda: JaxStep(workload, weights, scanned=arguments.mode == "scan")]


if __name__ == "__main__":
    serve(build, "mode")
