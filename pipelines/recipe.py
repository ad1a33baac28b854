"""The resolved recipe of a command, saved beside its output and readable by `--config`."""

import json
from collections.abc import Mapping
from typing import Any

from augment import __version__

DEEPEST = 50


def recipe_text(command: str, options: Mapping[str, Any], **more: Any) -> str:  # noqa: ANN401 - JSON values
    """The options that decide a command's output, as JSON; those that only decide how fast it comes stay out.

    None values are left out: they are what the command does without the option.
    """
    resolved = {key: value for key, value in {**options, **more}.items() if value is not None}
    return json.dumps({"command": command, "twinviews": __version__, **resolved}, ensure_ascii=False, indent=2) + "\n"


def parse_yaml(text: str) -> Any:  # noqa: ANN401 - whatever YAML can say
    """YAML (or JSON, which is YAML) as plain values.

    Raises:
        ValueError: It is no YAML, holds a string that is no Unicode, is nested deeper than a recipe ever is, or has
            aliases: a few of them stand for more than any memory holds.
    """
    import yaml

    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST or isinstance(event, yaml.AliasEvent):
                what = "an alias" if isinstance(event, yaml.AliasEvent) else f"more than {DEEPEST} levels"
                raise ValueError(f"{what} in line {event.start_mark.line + 1}")
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    json.dumps(value, ensure_ascii=False, default=str).encode()  # a lone surrogate is a ValueError here
    return value
