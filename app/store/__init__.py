"""Everything that is SQL: tables, one repository a noun, and the unit of work that commits them together."""
