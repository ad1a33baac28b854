"""Data cards in Markdown: what a dataset is, what it was made from, and counts; without a date."""

import os
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from augment.models.weights import HUB_NAME
from augment.types import PATH_PARAMS, signature_line
from pipelines.base.templates import templates
from pipelines.storage.dataset import Plan
from pipelines.storage.shards import view_schema

HUB = "hf:"
PATH = re.compile(r"(?:~|\.{0,2})(?:/[\w.@ -]+)+/?|[A-Za-z]:(?:\\[\w.@ -]+)+")
"""A whole value that is a path, there or not: no regular expression is one of plain names alone."""


def public_name(name: str) -> str:
    """What others may read of a source or a model: a name on the Hub as it is, of a path only the last part."""
    return name if HUB_NAME.fullmatch(name) and not Path(name).exists() else file_name(name)


def file_name(name: str) -> str:
    """The name of a file that was read, or of a dataset of the Hub."""
    prefix = HUB if name.startswith(HUB) else ""
    repository = name.removeprefix(HUB).partition(":")[0]
    is_path = not (prefix and HUB_NAME.fullmatch(repository)) or Path(repository).exists()
    return prefix + re.split(r"[/\\]", name.removeprefix(HUB).rstrip("/\\"))[-1] if is_path else name


def public_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters, with names instead of paths; other texts, such as regular expressions, as they are."""
    named = {key: public_name(str(params[key])) for key in PATH_PARAMS if params.get(key) is not None}
    filters = [
        re.sub("(?<==)[^,]+", lambda match: public_name(match[0]), text) for text in params.get("filter", ())
    ]
    return {**_public_value(params), **named, **({"filter": filters} if filters else {})}


def public_signature(plan: Plan) -> str:
    """The signature of a view, with names instead of paths."""
    named = {key: value for key, value in public_params(plan.params).items() if value != plan.params[key]}
    parts = (plan.signature or "").split("|")
    names = (part.partition(":")[0] for part in parts)
    return "|".join(
        signature_line({name: named[name]})
        if name in named and part == signature_line({name: plan.params[name]})
        else part
        for name, part in zip(names, parts, strict=True)
    )


def _public_value(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A value, and what is in it, with names instead of paths."""
    if isinstance(value, Mapping):
        return {key: _public_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_public_value, value)]
    is_path = isinstance(value, str) and (PATH.fullmatch(value) or ("/" in value and os.path.exists(value)))
    return file_name(value) or value if is_path else value


def _cell(value: object) -> str:
    """A value in a table of Markdown: names may hold markup, which stays text."""
    return " ".join(escape(str(value), quote=False).replace("|", "\\|").split())


def _code(text: str) -> str:
    return text if set("<>&`") & set(text) else f"`{text}`"


def dataset_card(plan: Plan, counts: Mapping[str, Any], **facts: Any) -> str:  # noqa: ANN401 - of several types
    """The card of a dataset, with names instead of paths.

    For pairs, `facts` are `columns`, `made_by` and `unit`.
    """
    environment = templates("pipelines.storage")
    environment.filters["cell"] = _cell
    inputs = [(_code(file_name(item.name)), f"`{item.sha256}`") for item in plan.inputs]
    params = public_params(plan.params)
    filters = [(_code(text), number) for number, text in enumerate(params.get("filter", ()), start=1)]
    if "made_by" in facts:
        facts["made_by"] = {file_name(name): how for name, how in facts["made_by"].items()}
    plan = plan.model_copy(update={"params": params, "signature": public_signature(plan)})
    facts |= {"view_columns": view_schema().names, "inputs": inputs, "filters": filters}
    return str(environment.get_template("card.md").render(plan=plan, counts=counts, **facts))
