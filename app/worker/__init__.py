"""The process side of a runner: forked from one that has the engine loaded, it fits and reports over a socket."""
