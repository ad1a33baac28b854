"""Studies: the same training over several seeds or settings, as one table with means and deviations."""
