"""Masked language models: proposals and their ranking."""
