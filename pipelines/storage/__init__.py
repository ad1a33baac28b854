"""Files on disk: shards, plans, datasets, recipes, cards, pair files."""
