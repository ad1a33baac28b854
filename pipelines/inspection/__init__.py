"""Inspecting a dataset: statistics, rows with their changes, on the terminal and as a page."""

REPORT_ROWS = 20
SAMPLE_ROWS = 2_000
