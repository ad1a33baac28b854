"""The resolved recipe of a command, saved beside its output and readable by `--config`, and other JSON of ours."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from augment import __version__


def recipe_text(command: str, options: Mapping[str, Any], **more: Any) -> str:  # noqa: ANN401 - JSON values
    """The options that decide a command's output, as JSON; those that only decide how fast it comes stay out.

    None values are left out: they are what the command does without the option.
    """
    resolved = {key: value for key, value in {**options, **more}.items() if value is not None}
    return json.dumps({"command": command, "twinviews": __version__, **resolved}, ensure_ascii=False, indent=2) + "\n"


def beside(out: Path, ending: str) -> Path:
    """The file beside `out` with another ending: `data/pairs.arrow`, `card.md` -> `data/pairs.card.md`."""
    named = out if out.name else out.resolve()
    return named.with_name(f"{named.name.removesuffix('.arrow')}.{ending}")


def read_made(recipe: Path) -> Mapping[str, Any]:
    """What a recipe of ours says was made with it; nothing if there is none, or one that says nothing of that."""
    saved = read_json(recipe)
    made = saved.get("made") if isinstance(saved, dict) else None
    return made if isinstance(made, dict) else {}


def read_json(path: Path) -> Any:  # noqa: ANN401 - whatever JSON can say
    """What a JSON file holds; None if there is none or it cannot be read."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
