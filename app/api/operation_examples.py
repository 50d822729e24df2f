"""The examples of operations in the OpenAPI document: requests that a server was sent, and its shortened answers."""

import json
from pathlib import Path
from typing import Any

ID = "01m831m75m731f2xcjxnm8n9wt"
IDS = {
    "graph_id": f"graph_{ID}",
    "dataset_id": f"ds_{ID}",
    "fit_id": f"fit_{ID}",
    "checkpoint_id": f"ckpt_{ID}",
    "session_id": f"sess_{ID}",
    "key_id": f"key_{ID}",
}
"""Examples of parameters of paths."""

FILE = Path(__file__).with_name("operation_examples.json")


def add_examples(document: dict[str, Any]) -> None:
    """Add the example of each operation to its request body and its response."""
    examples = json.loads(FILE.read_text("utf-8"))
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path" and parameter["name"] in IDS:
                    parameter["example"] = IDS[parameter["name"]]
            found = examples.get(operation.get("operationId"))
            if found is not None:
                _add(operation, found)


def _add(operation: dict[str, Any], found: dict[str, Any]) -> None:
    sent, received = found.get("request"), found.get("response")
    if sent is not None:
        content = operation.get("requestBody", {}).get("content", {})
        if sent["type"] in content:
            content[sent["type"]]["example"] = sent["example"]
    if received is not None:
        content = operation["responses"].get(found["status"], {}).get("content", {})
        if received["type"] in content:
            content[received["type"]]["example"] = received["example"]
