"""Drop pairs with a special token ([MASK], <unk>, ⁇, >>de<<, ...) that is not in the sentence; span masks may mask."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from augment.view import Runtime, view_attribute
from pipelines.filter import FilterSpec, PairColumns, Verdicts

MASKS = frozenset({"[mask]", "<mask>"})
TOKENS = re.compile(
    r"\[(?:MASK|UNK|PAD|CLS|SEP|BOS|EOS)\]"  # BERT
    r"|</?s>|<(?:mask|unk|pad|bos|eos|extra_id_\d+)>"  # RoBERTa, XLM-R, Marian, T5
    r"|<\|\w+\|>"  # GPT
    r"|>>\w+<<"  # Marian's target languages
    r"|[⁇▁]",  # SentencePiece's unknown piece and word mark
    re.IGNORECASE,
)


class PARAMS(BaseModel):
    """It has no parameters."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class SpecialTokens:
    """The filter. What the sentence itself holds, its views may hold as well."""

    spec: FilterSpec

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Drop a pair for its first side with a special token."""
        reasons: list[str | None] = [None] * len(pairs)
        for side in ("view_b", "view_a"):  # in this order, so that the first one's reason stays
            columns = zip(pairs.strings("text"), pairs.strings(side), pairs.about(side), strict=True)
            for row, (text, view, about) in enumerate(columns):
                found = _tokens(view) - (
                    MASKS if about.view and view_attribute(about.view, "keeps_masks") else frozenset()
                )
                if found and not found <= _tokens(text):
                    reasons[row] = f"special token in {side}"
        return Verdicts(reasons)


def _tokens(text: str) -> set[str]:
    return {token.lower() for token in TOKENS.findall(text)}


def build(params: PARAMS, runtime: Runtime) -> SpecialTokens:
    """The filter."""
    return SpecialTokens(FilterSpec("special-tokens", params.model_dump()))
