"""A user's own tables as sets to score: texts with labels, searches, and pairs of texts."""
