"""What every request passes: connections, authentication, rate limits, idempotency, problems, audit, telemetry."""
