#!/usr/bin/env bash
# A function and its derivative, computed at once: f = a * x ** 2 + b at a = 3, b = 4, x = 2.
set -euo pipefail
url=${ADJOINT_URL:-http://127.0.0.1:8000}

# The key comes through a pipe: everybody on the machine can read the arguments of a command.
request() { curl --silent --show-error --fail -H @<(printf '%s' "${ADJOINT_KEY:+X-API-Key: $ADJOINT_KEY}") "$@"; }
id_of() { grep -o "\"id\":\"$1_[a-z0-9]*\"" | head -n 1 | cut -d '"' -f 4; }

graph=$(request "$url/v1/graphs" -H 'Content-Type: application/json' -d '{
  "inputs": {"a": [], "b": []}, "parameters": {"x": []}, "program": "f = a * x ** 2 + b"}' | id_of graph)

request "$url/v1/graphs/$graph:compute" -H 'Content-Type: application/json' -d '{
  "inputs": {"a": 3.0, "b": 4.0}, "parameters": {"x": 2.0}}'
echo
