"""PostgreSQL in place of the SQLite file. Imported only where ADJOINT_DATABASE_URL names one."""
