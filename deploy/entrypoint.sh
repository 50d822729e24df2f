#!/bin/sh
# Before the server starts: on a CPU other than the builder's, the common kernels are compiled for it, once, into the
# volume. This happens in the background at low priority; a fit that comes sooner compiles what it needs itself.
set -eu
if [ "$*" = "adjoint serve" ]; then
    # In a subshell, so that the init process adopts it rather than the server.
    (nice -n 10 python -P -m engine.execution.native --common &)
fi
exec "$@"
