"""Drop pairs with a special token ([MASK], <unk>, ⁇, >>de<<, ...) that is not in the sentence; span masks may mask."""

from collections.abc import Iterator

from augment.view import view_attribute
from augment.words import special_tokens
from pipelines.filter import PairColumns, RowFilter, Verdicts, first_reasons

MASKS = frozenset({"[mask]", "<mask>"})


class SpecialTokens(RowFilter):
    """What the sentence itself holds, its views may hold as well."""

    def _judge(self, pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            abouts = pairs.about(side)
            masking = {each for each in set(abouts) if each.view and view_attribute(each.view, "keeps_masks")}
            for text, view, about in zip(pairs.strings("text"), pairs.strings(side), abouts, strict=True):
                found = special_tokens(view).keys() - (MASKS if about in masking else frozenset())
                yield f"special token in {side}" if found and found - special_tokens(text).keys() else None

        return first_reasons(reasons)
