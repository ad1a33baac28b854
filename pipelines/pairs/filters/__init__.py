"""Filters of pairs, one file each: a subclass of `pipelines.pairs.filter.Filter`, named by its file."""
