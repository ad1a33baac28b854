"""MarianMT translators: many sentences in, as many translations out, with a reason for each failure."""
