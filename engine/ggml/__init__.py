"""ggml's way of working: graphs without data, built first and computed often, and their training."""
