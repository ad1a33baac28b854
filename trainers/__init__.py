"""Pairs to an encoder, and an encoder to scores: the command `train`."""
