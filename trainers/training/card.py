"""The model card of a trained encoder."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from huggingface_hub import metadata_load
from yaml import YAMLError

from trainers.encoders.location import Source
from trainers.training.directory import RECIPE


def model_card(recipe: Mapping[str, Any], steps: int, dev: Mapping[int, float], source: Source) -> str:
    """Return the README of a trained encoder, of the weights after so many optimiser steps.

    `dev` are the scores on the development set by step, if any; `source` the encoder that the training started from,
    whose licence is the trained one's too.
    """
    name, base = recipe["command"], recipe["encoder"] or "the Twinviews starter encoder"
    settings = {key: value for key, value in recipe.items() if key not in ("command", "twinviews")}
    rows = "\n".join(f"| {key} | {_cell(value)} |" for key, value in settings.items() if value is not None)
    data = "graded pairs" if "graded" in recipe else "rows without labels"
    score = ""
    if dev:
        measure = ", the best of four similarities" if recipe["dev_similarity"] == "best" else ""
        score = f" Spearman's rho x 100 on {Path(recipe['dev']).name}: {dev[steps]:.2f}{measure}; untrained it was "
        score += f"{dev[0]:.2f}."
    return f"""---
{_licence(source)}library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags:
- sentence-transformers
- sentence-similarity
- feature-extraction
- twinviews
---

# Sentence encoder trained with {name}

{base}, trained for {steps} steps on {recipe["twinviews"]["rows"]:,} {data} by
Twinviews {recipe["twinviews"]["version"]} (`train {name}`).{score}

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
vectors = model.encode(["A man is playing a guitar.", "Someone plays an instrument."])
```

Vectors are pooled ({recipe["pooling"]}); compare them by cosine.

## How it was made

| setting | value |
|---|---|
{rows}

`{RECIPE}` holds the same for a machine; `train {name} --config {RECIPE} --out NEW` makes it again.
"""


def _licence(source: Source) -> str:
    """Return the line of the encoder's own card that names its licence; nothing where there is none."""
    found = None
    with suppress(OSError, ValueError, YAMLError):  # another's card may be anything
        found = (metadata_load(Path(source.path, "README.md")) or {}).get("license")
    return f"license: {found}\n" if isinstance(found, str) else ""


def _cell(value: object) -> str:
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return shown.replace("|", r"\|")
