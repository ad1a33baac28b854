"""The middle floor: sentences -> views -> pairs, on disk. Imports `augment` and nothing above it."""
