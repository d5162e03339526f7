"""SQLite backend: connection, full-text index, transactions, health checks."""
