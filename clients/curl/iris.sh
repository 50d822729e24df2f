#!/usr/bin/env bash
# From a CSV file to a trained model and its predictions. Run it from the root of the repository.
set -euo pipefail
url=${ADJOINT_URL:-http://127.0.0.1:8000}

# The key comes through a pipe: everybody on the machine can read the arguments of a command.
request() { curl --silent --show-error --fail -H @<(printf '%s' "${ADJOINT_KEY:+X-API-Key: $ADJOINT_KEY}") "$@"; }
id_of() { grep -o "\"id\":\"$1_[a-z0-9]*\"" | head -n 1 | cut -d '"' -f 4; }

dataset=$(request "$url/v1/datasets?name=iris&columns=flower:float32%5B4%5D=sepal_length..petal_width,species:class" \
  -H 'Content-Type: text/csv' --data-binary @app/cli/demo/iris.csv | id_of ds)
graph=$(request "$url/v1/graphs" -H 'Content-Type: application/json' --data-binary @app/cli/demo/iris.json | id_of graph)

fit=$(request "$url/v1/fits" -H 'Content-Type: application/json' -d "{
  \"graph\": \"$graph\", \"dataset\": \"$dataset\", \"validation\": {\"split\": 0.2}, \"metrics\": [\"accuracy\"],
  \"optimizer\": {\"kind\": \"adam\", \"lr\": 0.02}, \"epochs\": 20, \"batch_size\": 16}" | id_of fit)
echo "fit: $fit"

# Everything that happens to the fit, until it ends.
request --no-buffer "$url/v1/fits/$fit/events" | grep '^event: ' | sort | uniq -c

request "$url/v1/fits/$fit?wait=60&until=terminal" | grep -o '"state":"[a-z]*"' | head -n 1
request "$url/v1/fits/$fit/metrics?split=validation&format=csv" | tail -n 2

checkpoint=$(request "$url/v1/fits/$fit/checkpoints/latest" | id_of ckpt)
request "$url/v1/checkpoints/$checkpoint:predict" -H 'Content-Type: application/json' \
  -d '{"inputs": {"flower": [[5.1, 3.5, 1.4, 0.2], [6.3, 3.3, 6.0, 2.5]]}}'
echo
file=$(mktemp)
request "$url/v1/checkpoints/$checkpoint/content" --output "$file"
echo "checkpoint: $(wc -c < "$file") bytes"
rm "$file"
