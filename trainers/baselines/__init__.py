"""Encoders that this program does not train: averaged word vectors, and users' functions."""
