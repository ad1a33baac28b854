"""Inspecting a dataset: statistics, rows with their changes, on the terminal and as a page."""
