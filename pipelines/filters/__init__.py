"""Filters of pairs, one file each: the module's name is the filter's, `PARAMS` its options, `build` makes it."""
