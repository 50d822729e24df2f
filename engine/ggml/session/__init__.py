"""ggml's low-level flow over a definition, by name: graphs that a caller builds and computes step by step."""
