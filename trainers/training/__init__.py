"""A training run: its directory, its loop over `transformers.Trainer`, and what watches over it."""
