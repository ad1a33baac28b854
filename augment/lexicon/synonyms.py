"""Which words of an English sentence have synonyms, and which: single words of WordNet, in the word's form."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from pathlib import Path

from augment.lexicon.wordnet import Entry, WordNet
from augment.text.edits import Token, matching_case
from augment.text.english import INFLECTED, inflect, tagger, wants_an, written_words
from augment.text.facts import Change
from augment.text.words import FUNCTION_WORDS, fixed_places, replaceable, word_list
from augment.types import Edit

Weighted = tuple[tuple[str, float], ...]
"""Words with weights above 0, in alphabetical order."""

PARTS = {"N": "n", "V": "v", "J": "a", "R": "r"}
"""The first letter of a Penn tag, and WordNet's part of speech."""
_CLITIC = re.compile(r"(?i)(.+)(n['’]t|['’](?:s|re|ve|ll|d|m))$")
MAX_PHRASE_WORDS = 3
USUAL_SHARE = 0.2
"""The least share of a word's uses in a usual sense."""
LEAST_ZIPF = 1.9
"""The least Zipf frequency of a synonym; rarer ones (begetter, husbandman) are words that hardly anybody
writes."""
REVIEWED = {(part, lemma): frozenset(names) for lemma, part, *names in map(str.split, word_list("synonyms"))}
"""The synonyms of common words, reviewed one by one; many of these words have none."""
HOMOGRAPHS = frozenset(word_list("homographs"))
"""Words with reviewed synonyms that are irregular forms of a verb, and another noun or verb."""
MODIFIERS = frozenset(["DT", "PRP$", "JJ", "JJR", "JJS", "CD", "POS"])
"""Tags of words before a noun."""


class English:
    """The synonyms of English words by one WordNet: those that were reviewed, or all of their usual senses."""

    def __init__(self, entries: WordNet, *, is_reviewed: bool = True) -> None:
        self._wordnet = entries
        self._is_reviewed = is_reviewed
        self._openings = {tuple(name.split("_")[:2]) for name in entries.names if "_" in name}
        self.synonyms = lru_cache(maxsize=50_000)(self._synonyms)
        self.lemma = lru_cache(maxsize=50_000)(self._lemma)

    def choices(self, rows: Sequence[Sequence[Token]]) -> list[dict[int, Weighted]]:
        """The eligible words of each text by their place among its tokens, each with its synonyms.

        Eligible are content words with a synonym: no digits, single letters, acronyms, names, function
        words, and no parts of what WordNet has as one phrase ("ice cream").
        """
        return list(map(self._choices, rows, tags_of(rows)))

    def content_words(self, tokens: Sequence[Token], tags: Sequence[str]) -> Iterator[int]:
        """The places of content words that are no names and no parts of WordNet's phrases, as in `choices`."""
        words = [text.lower() if kind == "word" else "" for _, _, text, kind in tokens]
        phrase_places = self._in_set_phrases(words, tags) | fixed_places("word", tokens, tags)
        for index in replaceable(tokens):
            word, tag = words[index], tags[index]
            if (
                word in FUNCTION_WORDS
                or tag[:1] not in PARTS
                or tag.startswith("NNP")
                or index in phrase_places
            ):
                continue
            if tokens[index].text == word or not self._may_be_name(tokens[index : index + 2]):
                yield index

    def _choices(self, tokens: Sequence[Token], tags: Sequence[str]) -> dict[int, Weighted]:
        choices: dict[int, Weighted] = {}
        fixed = fixed_places("synonym", tokens, tags)
        for index in self.content_words(tokens, tags):
            word = tokens[index].text.lower()
            if index in fixed or self._is_homograph(word, tags[index], tags[index - 1] if index else ""):
                continue
            neighbours = [token.text.lower() for token in tokens[max(index - 1, 0) : index + 2]]
            synonyms = [pair for pair in self.synonyms(word, tags[index]) if pair[0] not in neighbours]
            if synonyms:
                choices[index] = (*synonyms,)
        return choices

    def _may_be_name(self, tokens: Sequence[Token]) -> bool:
        """Whether a capitalised word that begins a sentence may be a name: Bush says, Brown University."""
        word = tokens[0].text
        names = (entry.name for part in PARTS.values() for entry in self._wordnet.entries(word.lower(), part))
        return any(token.text[:1].isupper() for token in tokens[1:]) or word in names

    def _is_homograph(self, word: str, tag: str, before: str) -> bool:
        """Whether a word may be a form of another one: wound (an injury, the past of wind), dies (a verb, dice).

        A noun is taken for one after an article or an adjective, but not after a pronoun ("made him laugh"),
        nor is a plural whose verb is far more common.
        """
        if tag[0] == "N" and before in MODIFIERS:
            return False
        if word in HOMOGRAPHS or tag[0] != "N":
            return word in HOMOGRAPHS
        as_noun, as_verb = (
            sum(self._wordnet.uses(name, part) for name in self._wordnet.lemmas(word, part)) for part in "nv"
        )
        return (before == "PRP" and as_verb > 0) or (tag == "NNS" and as_verb > 4 * as_noun)

    def _in_set_phrases(self, words: Sequence[str], tags: Sequence[str]) -> set[int]:
        """Places of words that are entries of WordNet only together: "ice cream", "of course", "picked up"."""
        lemmas = [word and (self.lemma(word, tag) or word) for word, tag in zip(words, tags, strict=True)]
        places: set[int] = set()
        for forms in (words, lemmas):
            for first in [place for place, pair in enumerate(pairwise(forms)) if pair in self._openings]:
                for end in range(first + 2, min(first + MAX_PHRASE_WORDS, len(forms)) + 1):
                    if "_".join(forms[first:end]) in self._wordnet.names:
                        places.update(range(first, end))
        return places

    def _lemma(self, word: str, tag: str) -> str | None:
        """The dictionary form of a lower-case word under a Penn tag; None if WordNet does not have it."""
        part = PARTS.get(tag[:1])
        if part is None:
            return None
        if tag in INFLECTED:
            # "swinging" is a form of swing, and of swinge.
            names = {entry.name for synset in self._wordnet.senses(word, part) for entry in synset.entries}
            plain = (name for name in sorted(names) if name[0] == word[0] and "_" not in name)
            lemmas = self._wordnet.exceptions[part].get(word) or [
                name for name in plain if inflect(name, tag) == word
            ]
            if lemmas:
                return max(lemmas, key=lambda name: self._wordnet.uses(name, part))
        return next(iter(self._wordnet.lemmas(word, part)), None)

    def _synonyms(self, word: str, tag: str) -> Weighted:
        """The synonyms of the lower-case `word` in its senses, inflected for `tag`; () if there are none.

        A synonym's weight is the square of the sense's share of the word's uses, times the synonym's uses in
        that sense to the power of 1.5: of the exponents tried, these preserved the meaning of sentences best.
        """
        lemma, part = self.lemma(word, tag) or word, PARTS[tag[:1]]
        senses = self._senses(lemma, part)
        names = REVIEWED.get((part, lemma), ()) if self._is_reviewed else usual_names(senses, lemma)
        tag = corrected(tag, word, lemma)
        weights: dict[str, float] = defaultdict(float)
        for entries, share in senses if names else ():
            for name, uses in entries:
                form = form_like(name, lemma, tag) if name in names else None
                if form in written_words(LEAST_ZIPF) and form != word:
                    weights[form] += share**2 * (uses + 0.5) ** 1.5
        return tuple(sorted(weights.items()))

    def _senses(self, lemma: str, part: str) -> list[tuple[list[Entry], float]]:
        """The words of each sense of a lemma, and its share of the lemma's uses.

        Unseen senses count a little.
        """
        senses = {
            synset: entry.uses
            for synset in self._wordnet.senses(lemma, part)
            for entry in synset.entries
            if entry.name == lemma
        }
        counts = [uses + 0.5 / rank for rank, uses in enumerate(senses.values(), start=1)]
        return [
            (synset.entries, count / sum(counts))
            for synset, count in zip(senses, counts, strict=True)
            if not synset.unwanted
        ]


@lru_cache(maxsize=2)
def english(place: Path, *, is_reviewed: bool = True) -> English:
    """English by the WordNet of a folder or archive; the last two stay open."""
    return English(WordNet(place), is_reviewed=is_reviewed)


def usual_names(senses: Sequence[tuple[list[Entry], float]], lemma: str) -> set[str]:
    """The single words but `lemma` and function words of its usual senses.

    Of all senses if these have none.
    """
    shares: dict[str, float] = {}
    for entries, share in senses:
        for name, _ in entries:
            if name.isalpha() and name.islower() and name != lemma and name not in FUNCTION_WORDS:
                shares[name] = max(share, shares.get(name, 0))
    return {name for name, share in shares.items() if share >= USUAL_SHARE} or {*shares}


def edits_of(text: str, tokens: Sequence[Token], change: Change) -> list[Edit]:
    """A change as edits; the second is that of an "a" or "an" before it which no longer agrees."""
    first, end = tokens[change.first], tokens[change.end - 1].end
    new = matching_case(first.text, change.new)
    edits = [Edit(first.start, end, text[first.start : end], new)]
    before = [token for token in tokens[max(change.first - 2, 0) : change.first] if token.text not in "\"'“‘"]
    for old in before[-1:]:
        article = "an" if wants_an(new) else "a"
        if old.text.lower() in {"a", "an"} - {article}:
            edits.append(old.becomes(article.upper() if new.isupper() else matching_case(old.text, article)))
    return edits


def tags_of(rows: Sequence[Sequence[Token]]) -> list[list[str]]:
    """The Penn tags of the tokens of each text."""
    # The tagger learnt contractions as two words, "dog" and "'s"; the first one's tag counts.
    rows_of_parts = [[_parts(token.text) for token in row] for row in rows]
    rows_of_tags = tagger().tags([list(chain.from_iterable(parts)) for parts in rows_of_parts])
    return [
        [tags[start] for start, _ in zip(accumulate(map(len, parts), initial=0), parts, strict=False)]
        for parts, tags in zip(rows_of_parts, rows_of_tags, strict=True)
    ]


@lru_cache(maxsize=50_000)
def _parts(word: str) -> tuple[str, ...]:
    match = _CLITIC.match(word)
    return match.groups() if match else (word,)


def form_like(name: str, lemma: str, tag: str) -> str | None:
    """The form of a word for the tag of another one, whose lemma is given; None if it is none or not sure."""
    # If a past form may be a participle, only verbs with a single form for both have one.
    if tag in ("VBD", "VBN") and len(_pasts(lemma)) == 1 < len(_pasts(name)):
        return None
    form = inflect(name, tag)
    # "stuff" is no plural, as "materials" and "woods" are.
    return None if tag == "NNS" and form == name and not name.endswith("s") else form


def _pasts(verb: str) -> set[str | None]:
    return {inflect(verb, tag) for tag in ("VBD", "VBN")}


def corrected(tag: str, word: str, lemma: str) -> str:
    """The tag that a word's form needs, given its lemma: `tag` or another of the same part of speech."""
    if word == lemma:
        is_past = tag in ("VBD", "VBN") and inflect(lemma, tag) == word  # "put", not "light"
        return "VB" if tag[0] == "V" and not is_past else tag
    if tag[0] == "N":
        return "NNS"
    if tag[0] == "V":
        if word.endswith(("ing", "s")):
            return "VBG" if word.endswith("ing") else "VBZ"
        # A past form may be a participle, and only a tagger knows.
        return tag if tag in ("VBD", "VBN") else "VBD"
    return ("JJ" if tag[0] == "J" else "RB") + ("S" if word.endswith("st") else "R")
