"""Scores, a program of its own: sets, what an encoder scores on them, what figures can tell, tables and pages."""
