"""Stored scores: read, compared with each other and with the papers' rows, and collected over seeds and settings."""
