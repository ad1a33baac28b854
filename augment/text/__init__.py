"""Words and edits of a text; English tags and forms."""
