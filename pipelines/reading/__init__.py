"""Sentences from files and streams: formats, columns, lines."""
