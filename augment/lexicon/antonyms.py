"""The antonyms of English words by WordNet, in the word's form."""

from collections.abc import Sequence
from functools import cache, lru_cache

from augment.lexicon.synonyms import PARTS, English
from augment.text.edits import Token
from augment.text.english import inflect
from augment.text.facts import Change
from augment.text.words import word_groups

MIN_SHARE = 0.4
"""The least share of a word's uses that the sense of its antonym has."""
MIN_ZIPF = 3.5
"""The least frequency of an antonym, as in `augment.text.words`; rarer ones are odd: "impermanent"."""
_PARTICLES = (["up"], ["down"], ["out"], ["off"], ["over"], ["away"], ["back"], ["on"], ["in"])


class Antonyms:
    """The antonyms by one WordNet."""

    def __init__(self, english: English) -> None:
        self._english = english
        self.of = lru_cache(maxsize=50_000)(self._of)

    def changes(self, tokens: Sequence[Token], tags: Sequence[str]) -> list[Change]:
        """The words of a sentence, outside names and compounds, that have an antonym, with it."""
        words = [token.text.lower() for token in tokens]
        changes = []
        for place in self._english.content_words(tokens, tags):
            before, after = tags[place - 1] if place else "", tags[place + 1] if place + 1 < len(tags) else ""
            is_noun = tags[place].startswith("N")
            if any(tag.startswith("NNP") for tag in (before, after)) or (is_noun and "NN" in (before[:2], after[:2])):
                continue
            if tags[place].startswith("V") and (after in ("RP", "TO") or words[place + 1 : place + 2] in _PARTICLES):
                continue
            new = self.of(words[place], tags[place])
            if new is not None and new not in words:
                changes.append(Change(place, place + 1, new))
        return changes

    def _of(self, word: str, tag: str) -> str | None:
        """The most frequent antonym of a lower-case word under a Penn tag, in that tag's form, if any."""
        from wordfreq import zipf_frequency

        part, lemma = PARTS.get(tag[:1]), self._english.lemma(word, tag)
        if part is None or lemma is None or not {word, lemma}.isdisjoint(_without(part)):
            return None
        entries = [
            self._english.entry(*place)
            for _, entry, share in self._english.senses(lemma, part)
            if share >= MIN_SHARE and not entry.unwanted
            for place in entry.antonyms
        ]
        forms = [inflect(entry.name, tag) for entry in entries if entry.name.isalpha() and entry.name.islower()]
        usual = [form for form in forms if form and zipf_frequency(form, "en") >= MIN_ZIPF]
        return max(usual, key=lambda form: zipf_frequency(form, "en"), default=None)


@cache
def _without(part: str) -> frozenset[str]:
    """Words whose antonyms do not contradict: "a question" and "an answer"."""
    return frozenset(next(words for heading, words in word_groups("no_antonym") if heading.startswith(part)))
