"""Encoders without training of ours: word counts, averaged word vectors, anyone's function; whitening and flows."""
