"""The version, which signatures, plans and recipes hold."""

__version__ = "0.1.0"
