"""Encoders that this program does not train: word counts, averaged word vectors, user functions; whitening."""
