"""What a server stores and knows: lists, single things, their removal, and any operation by its name."""

from datetime import UTC, datetime

import numpy as np
import pytest

from adjoint_client import ServerError
from adjoint_client.generated.operations import OPERATIONS

ROWS = {"x": np.ones((4, 2), np.float32), "y": np.ones(4, np.float32)}


def test_lists_are_whole_filtered_and_bounded(client, line, monkeypatch):
    monkeypatch.setattr("adjoint_client._sync.transport._ITEMS_A_PAGE", 2)  # so that there are several pages
    datasets = [client.upload(ROWS, name=f"rows-{number}") for number in range(5)]
    assert [item.id for item in client.datasets(limit=5)] == [item.id for item in reversed(datasets)]
    assert [item.id for item in client.datasets(order="asc")][-5:] == [item.id for item in datasets]
    assert len(client.datasets(limit=3)) == 3
    labels = {"lists": "whole"}
    fits = [client.fit(line, datasets[0], steps=1, labels=labels) for _ in range(3)]
    assert [fit.wait().state for fit in fits] == ["succeeded"] * 3
    assert [fit.id for fit in client.fits(label="lists:whole", state="succeeded", order="asc")] == [
        fit.id for fit in fits
    ]
    assert client.fits(label="lists:whole", state="failed") == []
    with client.session(line, labels=labels) as session:
        assert [info.id for info in client.sessions(label="lists:whole")] == [session.id]
        assert client.get_session(session.id).state == session.refresh().state
        client.delete_session(session.info)
        assert client.get_session(session.id).finished_at is not None


def test_what_is_stored_is_read_and_deleted(client, line):
    graph, dataset = client.graph({**line, "name": "to be deleted"}), client.upload(ROWS, name="to be deleted")
    assert client.get_graph(graph.id) == graph
    assert client.get_dataset(dataset.id) == dataset
    fit = client.fit(graph, dataset, steps=2, checkpoint={"every_steps": 1})
    fit.wait()
    kept = client.checkpoints(fit)
    assert [checkpoint.info.step for checkpoint in kept] == [2, 1]
    uploaded = client.upload_checkpoint(kept[0].load(), graph)
    np.testing.assert_array_equal(uploaded.load()["w"], kept[0].load()["w"])
    client.delete_checkpoint(uploaded)
    kept[1].delete()
    assert [checkpoint.id for checkpoint in client.checkpoints(fit.id)] == [kept[0].id]
    for delete, thing in (
        (client.delete_fit, fit),
        (client.delete_dataset, dataset.id),
        (client.delete_graph, graph),
    ):
        delete(thing)
        with pytest.raises(ServerError, match="404"):
            delete(thing)


def test_records_have_fields_as_attributes(client, line):
    dataset = client.upload(ROWS)
    assert dataset.format == dataset.format_ == dataset["format"] == dataset.to_dict()["format"]
    assert abs(datetime.now(UTC) - dataset.created_at).days == 0
    assert dataset.columns[0].shape == [2]
    assert list(dict(dataset)) == list(dataset.to_dict())
    with pytest.raises(AttributeError, match=r"Dataset has no field 'row'.*rows"):
        _ = dataset.row


def test_catalogues(client):
    assert client.op("matmul")["name"] in [op["name"] for op in client.ops()]
    assert {operand["name"] for operand in client.losses()[0]["operands"]} == {"target", "weight"}
    (chain,) = [entry for entry in client.optimizers() if entry["kind"] == "chain"]
    (transforms,) = [attr for attr in chain["attrs"] if attr["name"] == "transforms"]
    assert "scale_by_adam" in [kind["kind"] for kind in transforms["kinds"]]
    kinds = {"layers": "linear", "schedules": "cosine", "metrics": "accuracy", "initializers": "zeros"}
    for name, kind in kinds.items():
        assert kind in [entry["kind"] for entry in getattr(client, name)()]


def test_layers_without_a_definition_are_refused_before_anything_is_sent(client, line):
    with pytest.raises(TypeError, match="not list; give layers in a definition"):
        client.fit([{"layer": "linear", "units": 1}], {"x": [1.0]}, epochs=1)
    with pytest.raises(TypeError, match=r"not int$"):
        client.fit(line, [7], epochs=1)


def test_any_operation_is_called_by_its_name(client, line):
    assert client.call("check_health")["status"] == "ok"
    graph = client.call("create_graph", line)
    assert client.call("get_graph", graph_id=graph["id"]) == graph
    assert client.call("delete_graph", graph_id=graph["id"]) is None
    with pytest.raises(ValueError, match="did you mean get_graph"):
        client.call("get_grph")
    with pytest.raises(TypeError, match="no parameter 'id'; it has graph_id"):
        client.call("get_graph", id=1)
    with pytest.raises(TypeError, match="needs the parameter 'graph_id'"):
        client.call("get_graph")
    assert {"state", "label"} <= {*OPERATIONS["list_fits"].query}


def test_tables_are_predicted_and_evaluated(client, line, tmp_path):
    dataset = client.upload({**ROWS, "id": np.arange(10, 14)})
    fit = client.fit(line, dataset, steps=2)
    fit.wait()
    checkpoint = fit.checkpoint()
    found = checkpoint.predict_table(dataset, id_column="id", stop=3)
    assert found["id"].tolist() == [10, 11, 12]
    expected = checkpoint.predict(ROWS["x"])[:3]
    np.testing.assert_allclose(found["pred"], expected, rtol=1e-6)
    assert checkpoint.predict_table({"x": ROWS["x"]}, tmp_path / "out.csv") == {}
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 5
    report = fit.evaluate(dataset, metrics=["mae"])
    assert report.regression.mean_absolute_error == pytest.approx(report.metrics["mae"], rel=1e-6)
    with pytest.raises(ServerError, match="no column"):
        checkpoint.predict_table({"z": ROWS["x"]}, tmp_path / "none.csv")


def test_datasets_are_made_of_stored_ones(client):
    first = client.upload({"x": [0.0, 1.0, 2.0, 3.0], "y": [0, 1, 0, 1]}, name="parts")
    more = client.append_rows(first, {"x": [4, 5], "y": [0, 1]})
    train, test = client.split_rows(more, 0.5, stratify="y")
    assert (more.rows, more.version, train.rows, test.rows) == (6, 2, 3, 3)
    chosen = client.select_rows(more, rows=(1, None), where=[("x", "<", 4), ("y", "in", [1])], name="odd")
    assert (chosen.rows, chosen.name) == (2, "odd")
    assert client.join_rows([chosen, chosen]).rows == 4
    assert client.select_rows(more, sample=0.5).rows == client.select_rows(more, sample=3).rows == 3
    assert client.profile(more, target="y").target.kind == "class"
    assert [each.id for each in client.datasets(name="odd", order="asc", limit=1)] == [chosen.id]
