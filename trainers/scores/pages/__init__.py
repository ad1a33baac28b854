"""Stored scores as tables and pages: `train compare`, `train report`."""
