"""Where `process_rows` runs; an engine decides nothing about what it makes."""
