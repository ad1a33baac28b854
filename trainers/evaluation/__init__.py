"""Evaluation: graded sentence pairs in, rank correlations of the cosine out, as a table, JSON and Markdown."""
