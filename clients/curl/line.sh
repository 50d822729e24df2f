#!/usr/bin/env bash
# A line through four points, with the graph and the data in the request itself.
set -euo pipefail
url=${ADJOINT_URL:-http://127.0.0.1:8000}

# The key comes through a pipe: everybody on the machine can read the arguments of a command.
request() { curl --silent --show-error --fail -H @<(printf '%s' "${ADJOINT_KEY:+X-API-Key: $ADJOINT_KEY}") "$@"; }
id_of() { grep -o "\"id\":\"$1_[a-z0-9]*\"" | head -n 1 | cut -d '"' -f 4; }

fit=$(request "$url/v1/fits" -H 'Content-Type: application/json' -d '{
  "graph": {"inputs": {"x": ["batch"], "y": ["batch"]}, "parameters": {"w": [], "b": []},
            "program": "loss = mean((w * x + b - y) ** 2)"},
  "dataset": {"columns": {"x": [0.0, 1.0, 2.0, 3.0], "y": [2.0, 5.0, 8.0, 11.0]}},
  "optimizer": {"kind": "sgd", "lr": 0.1}, "epochs": 200}' | id_of fit)

request "$url/v1/fits/$fit?wait=60&until=terminal" | grep -o '"state":"[a-z]*"' | head -n 1
checkpoint=$(request "$url/v1/fits/$fit/checkpoints/latest" | id_of ckpt)
for parameter in w b; do
  request "$url/v1/checkpoints/$checkpoint/parameters/$parameter"
  echo
done
