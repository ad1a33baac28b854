"""Pairs from views, NLI corpora and other pairs: candidates, filters applied, what is written."""
