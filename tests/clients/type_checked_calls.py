"""Calls of the client that type checkers take, and others that they refuse; `make lint` checks them, nothing runs them.

Both mypy and basedpyright report an ignored error that does not occur: a call with comments is refused by these rules.
"""

from adjoint_client import AsyncClient, Client
from adjoint_client.generated.schemas import FitRequest

client = Client()
columns = {"x": [1.0, 2.0]}
graph = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x - w) ** 2)"}
fit = client.fit(graph, columns, epochs=3, optimizer={"kind": "adam", "lr": 0.1, "betas": (0.9, 0.99)})
client.fit("graph_1", ["ds_1", "ds_2"], steps=3, validation=0.2, schedule={"kind": "one_cycle", "total_steps": 3})
client.fit(graph, columns, metrics=["accuracy", {"kind": "top_k_accuracy", "k": 2}], early_stopping={"patience": 2})
client.fit(graph, columns, optimizer={"kind": "sgd", "groups": [{"match": "w*", "lr": 0.2}]}, resources={"threads": 1})
client.session(graph, optimizer={"kind": "sgd", "lr": 0.1}, seed=1).optim_step(lr=0.1)
request: FitRequest = {"graph": "graph_1", "dataset": "ds_1", "epochs": 3}
assert fit.info.state == "succeeded" or [found.info.step for found in client.fits(state="failed")]


async def fit_beside_others() -> None:
    """Wait for a fit of the asynchronous client, which has the same methods."""
    async with AsyncClient() as beside:
        await (await beside.fit(graph, columns, epochs=3)).wait()
        await beside.fit(graph, columns, epochz=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


client.fit(graph, columns, epochz=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
client.fit(graph, columns, epochs="3")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
client.fit(graph, columns, optimizer={"kind": "adamm"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
client.fit(
    graph,
    columns,
    optimizer={"kind": "adam", "momentum": 0.9},  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
)
client.fit(
    graph,
    columns,
    schedule={"kind": "one_cycle"},  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
)
client.fit(
    graph,
    columns,
    resources={"priority": "highest"},  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
)
client.session(graph, seeds=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
client.fits(state="success")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
assert fit.info.stat  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
request = {"graph": "graph_1", "epochs": "3"}  # type: ignore[typeddict-item]  # pyright: ignore[reportAssignmentType]
