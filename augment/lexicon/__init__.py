"""WordNet: synonyms, other languages."""
