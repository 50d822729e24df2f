"""How a graph becomes numbers: plans, their executors, and a node-by-node interpreter."""
