"""Filters of pairs, one file each: a subclass of `pipelines.filter.Filter`, named by its file."""
