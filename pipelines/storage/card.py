"""Data cards in Markdown: what a dataset is, what it was made from, and counts; without a date."""

from collections.abc import Mapping
from typing import Any

from pipelines.storage.dataset import PLACE, view_schema
from pipelines.storage.files import UNSEALED, seal
from pipelines.storage.plan import Plan


def dataset_card(plan: Plan, counts: Mapping[str, Any], **facts: Any) -> str:  # noqa: ANN401 - of several types
    """The card of a dataset; for pairs, `facts` are their `columns`, `made_by` and the `unit` that was read."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("pipelines.storage")
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    inputs = [(f"`{item.name}`", f"`{item.sha256}`") for item in plan.inputs]
    filters = [(f"`{text}`", number) for number, text in enumerate(plan.params.get("filter", ()), start=1)]
    facts |= {"place": PLACE, "view_columns": view_schema().names, "inputs": inputs, "filters": filters}
    return seal(environment.get_template("card.md").render(plan=plan, counts=counts, checksum=UNSEALED, **facts))
