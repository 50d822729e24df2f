#!/usr/bin/env bash
# A Hessian times a vector, without the Hessian: of Rosenbrock's function at (x, y) = (1, 1), where
# H = [[802, -400], [-400, 200]], along (1, 2), in float64. Then its third derivative, twice by x and once by y.
set -euo pipefail
url=${ADJOINT_URL:-http://127.0.0.1:8000}

# The key comes through a pipe: everybody on the machine can read the arguments of a command.
request() { curl --silent --show-error --fail -H @<(printf '%s' "${ADJOINT_KEY:+X-API-Key: $ADJOINT_KEY}") "$@"; }
id_of() { grep -o "\"id\":\"$1_[a-z0-9]*\"" | head -n 1 | cut -d '"' -f 4; }

graph=$(request "$url/v1/graphs" -H 'Content-Type: application/json' -d '{
  "inputs": {}, "parameters": {"x": {"shape": [], "dtype": "float64"}, "y": {"shape": [], "dtype": "float64"}},
  "program": "f = (1 - x) ** 2 + 100 * (y - x ** 2) ** 2"}' | id_of graph)

request "$url/v1/graphs/$graph:compute" -H 'Content-Type: application/json' -d '{
  "parameters": {"x": 1, "y": 1},
  "want": [{"hvp": {"by": {"x": 1, "y": 2}}}, {"derivative": {"by": ["x", "x", "y"]}}]}'
echo
