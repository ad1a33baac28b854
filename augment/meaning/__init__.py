"""Whether a view means what its sentence means: an encoder's judgement, and choosing the best of several texts."""
