"""Ground floor: text to text. Views of a sentence, with what became of it; no files, no commands."""

__version__ = "0.1.0"
