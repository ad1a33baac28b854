"""The resolved recipe of a command, saved beside its output and readable by `--config`."""

import json
from collections.abc import Mapping
from typing import Any

from augment import __version__


def recipe_text(command: str, options: Mapping[str, Any], **more: Any) -> str:  # noqa: ANN401 - JSON values
    """The options that decide a command's output, as JSON; those that only decide how fast it comes stay out.

    None values are left out: they are what the command does without the option.
    """
    resolved = {key: value for key, value in {**options, **more}.items() if value is not None}
    return json.dumps({"command": command, "twinviews": __version__, **resolved}, ensure_ascii=False, indent=2) + "\n"
