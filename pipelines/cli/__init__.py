"""The command `augment`."""
