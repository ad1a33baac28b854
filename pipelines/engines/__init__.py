"""Where `process_shard` runs; an engine decides nothing about what it makes."""
