"""Which words of an English sentence may become synonyms, and which synonyms they have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from augment.edits import Token, matching_case
from augment.inflect import wants_an
from augment.synonyms import PARTS, Thesaurus, Tiers
from augment.tagging import Tagger
from augment.view import Edit
from augment.words import FUNCTION_WORDS, replaceable, starts_sentence

LONGEST_PHRASE = 3
_CLITIC = re.compile(r"(?i)(.+)(n['’]t|['’](?:s|re|ve|ll|d|m))$")


@dataclass(frozen=True)
class English:
    """English by one WordNet and NLTK's tagger."""

    thesaurus: Thesaurus
    tagger: Tagger

    def choices(self, found: Sequence[Token]) -> dict[int, Tiers]:
        """The eligible words by their place among the tokens, each with its synonyms.

        Eligible are content words with a synonym in any sense: no digits, single letters, acronyms, names, function
        words, and no parts of what WordNet knows as one phrase ("ice cream").
        """
        tags = self._tags(found)
        fixed = self._in_set_phrases(found, tags)
        choices: dict[int, Tiers] = {}
        for index in replaceable(found):
            word, tag = found[index].text.lower(), tags[index]
            if tag[:1] not in PARTS or tag.startswith("NNP") or word in FUNCTION_WORDS or index in fixed:
                continue
            if found[index].text != word and self._may_be_name(found, index):
                continue
            tiers = self.thesaurus.synonyms(word, tag)
            if tiers:
                tiers = _without(tiers, found[max(index - 1, 0) : index + 2])
                if tiers[-1]:
                    choices[index] = tiers
        return choices

    def agreement(self, found: Sequence[Token], index: int, new: str) -> list[Edit]:
        """The edit that turns "a" before a changed word into "an" or back, where the new word's sound asks for it."""
        before = index - 1
        if before > 0 and found[before].text in "\"'“‘":
            before -= 1
        if before < 0 or found[before].text.lower() not in ("a", "an"):
            return []
        article = found[before]
        right = "an" if wants_an(new) else "a"
        if article.text.lower() == right:
            return []
        right = right.upper() if new.isupper() else matching_case(article.text, right)
        return [Edit(article.start, article.end, article.text, right)]

    def _tags(self, found: Sequence[Token]) -> list[str]:
        """A Penn tag for every token."""
        # The tagger learnt contractions as two words: "dog" and "'s".
        parts = [match.groups() if (match := _CLITIC.match(token.text)) else (token.text,) for token in found]
        tags = self.tagger.tag([part for group in parts for part in group])
        starts = accumulate((len(group) for group in parts), initial=0)
        return [tags[start] for start, _ in zip(starts, parts, strict=False)]

    def _may_be_name(self, found: Sequence[Token], index: int) -> bool:
        """Whether a capitalised word may be a name, though it begins a sentence: Bush says, Brown University."""
        following = found[index + 1].text if index + 1 < len(found) else ""
        return not starts_sentence(found, index) or following[:1].isupper() or self.thesaurus.is_name(found[index].text)

    def _in_set_phrases(self, found: Sequence[Token], tags: Sequence[str]) -> set[int]:
        """Places of words that WordNet knows only together: "ice cream", "of course", "picked up"."""
        source = self.thesaurus
        words = [token.text.lower() if token.kind == "word" else "" for token in found]
        lemmas = [source.lemma(word, tag) or word if word else word for word, tag in zip(words, tags, strict=True)]
        fixed: set[int] = set()
        for first in range(len(found) - 1):
            for part in (words, lemmas):
                if not source.opens_phrase(part[first]):
                    continue
                for last in range(first + 1, min(first + LONGEST_PHRASE, len(found))):
                    if not words[last]:
                        break
                    if source.is_entry("_".join(part[first : last + 1])):
                        fixed.update(range(first, last + 1))
        return fixed


def _without(tiers: Tiers, beside: Sequence[Token]) -> Tiers:
    """The synonyms without those that stand beside the word already."""
    there = {token.text.lower() for token in beside}
    if not any(form in there for form, _ in tiers[-1]):
        return tiers
    return tuple(tuple(one for one in tier if one[0] not in there) for tier in tiers)
