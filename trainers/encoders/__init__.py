"""Texts to vectors: what scores, baselines and teachers need of an encoder."""
