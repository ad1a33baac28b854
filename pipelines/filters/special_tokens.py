"""Drop pairs with a special token ([MASK], <unk>, ⁇, >>de<<, ...) that is not in the sentence; span masks may mask."""

from __future__ import annotations

from collections.abc import Iterator

from augment.view import Runtime, view_attribute
from augment.words import special_tokens
from pipelines.filter import About, FilterSpec, Options, PairColumns, RowFilter, Verdicts, first_reasons

MASKS = frozenset({"[mask]", "<mask>"})


class PARAMS(Options):
    """It has no parameters."""


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter. What the sentence itself holds, its views may hold as well."""

    def judge(pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            abouts = pairs.about(side)
            allowed = {each: MASKS if _keeps_masks(each) else frozenset() for each in set(abouts)}
            for text, view, about in zip(pairs.strings("text"), pairs.strings(side), abouts, strict=True):
                found = special_tokens(view).keys() - allowed[about]
                yield f"special token in {side}" if found and found - special_tokens(text).keys() else None

        return first_reasons(pairs, reasons)

    return RowFilter(FilterSpec("special-tokens", params.model_dump()), judge)


def _keeps_masks(about: About) -> bool:
    return about.view is not None and bool(view_attribute(about.view, "keeps_masks"))
