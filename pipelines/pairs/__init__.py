"""The sources of pairs; filtering and writing them."""
