"""Views of a sentence, and what became of it: text to text, without files or commands."""

__version__ = "0.1.0"
