"""Checking and exporting what was written."""
