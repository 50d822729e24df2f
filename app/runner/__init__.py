"""Where fits run: a port, its adapters, and the supervisor that keeps processes and database in step."""
