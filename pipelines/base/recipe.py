"""The recipe of a command: its options, saved beside its output and read again by `--config`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from augment.errors import InputError
from augment.files import read_bounded
from augment.version import __version__

RECIPE_METADATA = frozenset({"command", "twinviews"})


def recipe_text(command: str, options: Mapping[str, Any], **extra: Any) -> str:  # noqa: ANN401 - JSON values
    """The options that decide a command's output, as JSON; those that are None are left out."""
    resolved = {key: value for key, value in {**options, **extra}.items() if value is not None}
    recipe = {"command": command, "twinviews": __version__, **resolved}
    return json.dumps(recipe, ensure_ascii=False, indent=2) + "\n"


def parse_yaml(text: str, *, is_unique: bool = True) -> Any:  # noqa: ANN401 - whatever YAML can say
    """YAML (or JSON) as plain values.

    ValueError for other text, aliases, lone surrogates, too deep nesting, and keys that repeat, if each `is_unique`.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses a key that is there twice, as `min-words` and `min_words`; YAML's own takes the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401 - as YAML's own
            keys = [str(key.value).replace("-", "_") for key, _ in node.value]
            if is_unique and len({*keys}) < len(keys):
                repeated = max(keys, key=keys.count)
                raise yaml.YAMLError(f"{repeated!r} is there twice: leave one out")
            return super().construct_mapping(node, deep)

    try:
        # Aliases of aliases grow without end when they are written out.
        if "*" in text and any(
            isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)
        ):
            raise yaml.YAMLError("it has an alias, a name after an asterisk: write the value itself")
        value = yaml.load(text, Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from None
    # a lone surrogate is a ValueError here
    json.dumps(value, ensure_ascii=False, default=str, skipkeys=True).encode()
    return value


def load_config(context: typer.Context, parameter: typer.CallbackParam, value: Path | None) -> Path | None:
    """Make a recipe file's values the defaults of its command; flags still override them.

    May raise InputError.
    """
    if value is None or context.resilient_parsing:
        return value
    try:
        recipe = parse_yaml(read_bounded(value).decode()) or {}
        if not isinstance(recipe, dict):
            raise ValueError(f"it holds {type(recipe).__name__}, not a mapping")
    except (OSError, ValueError) as error:
        raise InputError(f"{value} is not a YAML recipe ({error}): write one `option: value` a line") from None
    name = context.info_name
    command = recipe.get("command", name)
    if command != name:
        raise InputError(f"{value} is a recipe of `{command}`, not of `{name}`: give it to its own command")
    values = {str(key).replace("-", "_"): item for key, item in recipe.items() if key not in RECIPE_METADATA}
    options = {
        item.name: item for item in context.command.params if item.name not in (None, parameter.name, "help")
    }
    unknown = ", ".join(map(repr, sorted(values.keys() - options)))
    if unknown:
        raise InputError(f"{value}: no option {unknown} in `{name}`; it knows {', '.join(sorted(options))}")
    context.default_map = {}
    for key, item in values.items():
        option, is_list = options[key], isinstance(item, list)
        is_repeated = getattr(option, "multiple", False)
        is_unfit = isinstance(item, dict) or (is_list and not is_repeated and option.nargs == 1)
        if option.metavar != "YAML" and is_unfit:
            raise InputError(f"{value}: {key} is {item!r}: write a single value")
        if item is not None:
            context.default_map[key] = [item] if is_repeated and not is_list else item
    return value


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="A YAML or JSON recipe with any of these options; flags override it.",
        is_eager=True,
        callback=load_config,
        show_default=False,
        rich_help_panel="Running",
    ),
]
