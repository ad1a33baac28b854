"""Translation models: MarianMT trained or fine-tuned on parallel text."""
