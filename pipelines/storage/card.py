"""Data cards in Markdown: what a dataset is, what it was made from, and counts; without a date."""

import os
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from augment.models.weights import HUB_NAME
from augment.types import signature_line
from pipelines.base.templates import templates
from pipelines.storage.dataset import Plan
from pipelines.storage.shards import view_schema

HUB = "hf:"
PATH = re.compile(r"(?:~|\.{0,2})(?:/[\w.@ -]+)+/?|[A-Za-z]:(?:\\[\w.@ -]+)+")
"""A whole value that is a path, there or not: no regular expression is one of plain names alone."""


def public_name(name: str) -> str:
    """What others may read of a source or a model: a name on the Hub as it is, of a path only the last part."""
    prefix = HUB if name.startswith(HUB) else ""
    place = name.removeprefix(HUB)
    repository = place.partition(":")[0] if prefix else place
    if HUB_NAME.fullmatch(repository) and not Path(repository).exists():
        return name
    return prefix + re.split(r"[/\\]", place.rstrip("/\\"))[-1]


def public_plan(plan: Plan) -> Plan:
    """A plan, with names instead of paths in its parameters, inputs and signature."""
    params, signature = public_value(plan.params), plan.signature
    for key, value in params.items():
        if signature is not None and value != plan.params[key]:
            old, new = (signature_line({key: one}) for one in (plan.params[key], value))
            signature = signature.replace(f"|{old}", f"|{new}")
    inputs = tuple(item.model_copy(update={"name": public_name(item.name)}) for item in plan.inputs)
    return plan.model_copy(update={"params": params, "signature": signature, "inputs": inputs})


def public_value(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A value, and what is in it, with names instead of paths; other texts, such as patterns, as they are."""
    if isinstance(value, Mapping):
        return {key: public_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [*map(public_value, value)]
    is_path = isinstance(value, str) and (PATH.fullmatch(value) or ("/" in value and os.path.exists(value)))
    return public_name(value) or value if is_path else value


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
    plan = public_plan(plan)
    inputs = [(_code(item.name), f"`{item.sha256}`") for item in plan.inputs]
    filters = [(_code(text), number) for number, text in enumerate(plan.params.get("filter", ()), start=1)]
    if "made_by" in facts:
        facts["made_by"] = {public_name(name): how for name, how in facts["made_by"].items()}
    facts |= {"view_columns": view_schema().names, "inputs": inputs, "filters": filters}
    return str(environment.get_template("card.md").render(plan=plan, counts=counts, **facts))
