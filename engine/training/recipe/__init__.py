"""How a graph is to be fitted."""
