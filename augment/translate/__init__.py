"""MarianMT translators: many sentences in, as many translations out, each with a reason where it failed."""
