#!/bin/sh
# Before the server starts: on a CPU other than the builder's, the common kernels are compiled for it, once, into the
# volume. This happens in the background at low priority; a fit that comes sooner compiles what it needs itself.
# A server whose fits run on Ray joins its cluster with a node that runs none: Ray requires one on this machine.
set -eu
if [ "$*" = "adjoint serve" ]; then
    if [ "${ADJOINT_RUNNER:-local}" = "ray" ] && [ "${ADJOINT_WORKERS:-}" != "0" ]; then
        # The first address of the machine, unless the settings say which one other nodes reach.
        addresses=$(hostname -I)
        export ADJOINT_RAY_NODE_ADDRESS="${ADJOINT_RAY_NODE_ADDRESS:-${addresses%% *}}"
        ray start --address="$ADJOINT_RAY_ADDRESS" --node-ip-address="$ADJOINT_RAY_NODE_ADDRESS" --num-cpus=0 --object-store-memory=100000000 --disable-usage-stats >&2
    fi
    # In a subshell, so that the init process adopts it rather than the server.
    (nice -n 10 python -P -m engine.execution.native --common &)
fi
exec "$@"
