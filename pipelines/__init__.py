"""Datasets of sentences, views and pairs: the command `augment`."""
