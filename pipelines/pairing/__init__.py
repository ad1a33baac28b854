"""Pairs from views and NLI corpora, and negatives mined for pairs: candidates, filters, output."""
