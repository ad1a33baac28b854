"""Drop pairs with a special token ([MASK], <unk>, ⁇, >>de<<, ...) that is not in the sentence; span masks may mask."""

from __future__ import annotations

from collections.abc import Iterator

from augment.view import Runtime, view_attribute
from augment.words import SPECIAL_TOKENS
from pipelines.filter import FilterSpec, Options, PairColumns, RowFilter, Verdicts, first_reasons

MASKS = frozenset({"[mask]", "<mask>"})


class PARAMS(Options):
    """It has no parameters."""


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter. What the sentence itself holds, its views may hold as well."""

    def judge(pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            for text, view, about in zip(pairs.strings("text"), pairs.strings(side), pairs.about(side), strict=True):
                masked = about.view and view_attribute(about.view, "keeps_masks")
                found = _tokens(view) - (MASKS if masked else frozenset())
                yield f"special token in {side}" if found and not found <= _tokens(text) else None

        return first_reasons(pairs, reasons)

    return RowFilter(FilterSpec("special-tokens", params.model_dump()), judge)


def _tokens(text: str) -> set[str]:
    return {token.lower() for token in SPECIAL_TOKENS.findall(text)}
