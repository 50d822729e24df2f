"""The lines to try after the demo. They run as they are printed, against `make serve`."""

ADDRESS = "http://127.0.0.1:8000"

COMMANDS = (
    f"""curl -s {ADDRESS}/v1/fits -H 'Content-Type: application/json' -d '{{
  "graph": {{"inputs": {{"x": ["batch"], "y": ["batch"]}}, "parameters": {{"w": [], "b": []}},
            "program": "loss = mean((w * x + b - y) ** 2)"}},
  "dataset": {{"columns": {{"x": [0.0, 1.0, 2.0, 3.0], "y": [2.0, 5.0, 8.0, 11.0]}}}},
  "optimizer": {{"kind": "sgd", "lr": 0.1}}, "epochs": 200}}'""",
    f"curl -s '{ADDRESS}/v1/fits?limit=1'",
    f"curl -s --data-binary @app/cli/demo/iris.csv -H 'Content-Type: text/csv' '{ADDRESS}/v1/datasets?name=iris'",
    f"curl -s {ADDRESS}/v1/ops/matmul",
)

NEXT_STEPS = "\n".join(("make serve    # leaves a server running; then, in another terminal:", *COMMANDS))
