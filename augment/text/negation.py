"""English negation of a sentence's main clause: put in where there is none, taken out where there is one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from augment.text.edits import Token, matching_case
from augment.text.english import inflect, verb_lemma, wants_an
from augment.text.words import NEGATIONS, fixed_places, word_groups
from augment.types import Edit

WORDS = {heading: frozenset(words) for heading, words in word_groups("clauses")}
"""Words by what they do in a clause: `openers` begin a subordinate one; the denial of an `unsure` verb or a
`partial` subject may be true beside it (it may rain, some men sleep); "not" denies `limits` alone (not only);
an `undenied` sentence is not denied by "no" before its subject; what `general` verbs say of any subject holds
in general (causes)."""
_CLAUSE_STARTS = WORDS["openers"] | WORDS["relatives"]
_SUPPORT = {"VBZ": "does", "VBD": "did", "VBP": "do"}
_SOME = {"any": "some", "anyone": "someone", "anybody": "somebody", "anything": "something"}
_ANY = {new: old for old, new in _SOME.items()}
_SOMEBODY = {"nobody": "somebody", "nothing": "something", "none": "some", "without": "with"}
_STEMS = {"can't": "can", "cannot": "can", "won't": "will"}
_STOPS = frozenset(',;:–—()"“”«»?!.')


def negations(text: str, tokens: Sequence[Token], tags: Sequence[str]) -> list[list[Edit]]:
    """The ways, each as edits, to turn a sentence into its denial, the usual one first.

    None if no rule is sure.

    `tags` are the Penn tags of the `tokens` of `text`; of a contraction, that of its first part.

    Example:
        >>> from augment.text.edits import apply_edits, tokens
        >>> text = "She plays chess."
        >>> [apply_edits(text, edits) for edits in negations(text, tokens(text), ["PRP", "VBZ", "NN", "."])]
        ['She does not play chess.']
    """
    words = [token.text.lower().replace("’", "'") for token in tokens]
    if not words:
        return []
    sentence = _Sentence(text, tokens, [*tags, ""], [*words, ""])
    places = [place for place, word in enumerate(words) if is_negation(word)]
    if not places:
        return [] if fixed_places("denial", tokens, tags) else [*sentence.denials()]
    is_sure = len(places) == 1 and not fixed_places("removal", tokens, tags)
    removal = sentence.without(places[0]) if is_sure else None
    return [removal] if removal else []


def is_negation(word: str) -> bool:
    """Whether a lower-case word denies: "not", "nobody", "isn't"."""
    return word in NEGATIONS or word == "cannot" or word.endswith(("n't", "n’t"))


class _Sentence(NamedTuple):
    """A sentence with its tokens, and their tags and lower-case words, with an empty one at the end."""

    text: str
    tokens: Sequence[Token]
    tags: Sequence[str]
    words: Sequence[str]

    def start(self) -> int:
        """The place of the main clause's first word."""
        if self.words[0] not in WORDS["openers"]:
            return int(self.words[0] == "please")
        return self.words.index(",") + 1 if "," in self.words else len(self.tokens)

    def main_verb(self) -> int | None:
        """The place of the main clause's first finite verb; None if there is none, or it is not clear."""
        pending = 0  # verbs of clauses inside that come first
        ends = (".", "!") if "?" in self.words else ()  # a question follows
        for place in range(self.start(), len(self.tokens)):
            word, tag, after = self.words[place], self.tags[place], self.tags[place + 1]
            if word in ends:
                return None
            is_start = word in WORDS["subordinators"] and after not in ("VBG", "VBN", "IN")
            if is_start or word in WORDS["relatives"] or (word == "that" and tag in ("IN", "WDT")):
                pending += 1
            elif self._is_finite(place) and not self._is_participle(place):
                if not pending:
                    return place
                pending -= 1
        return None

    def denials(self) -> Iterator[list[Edit]]:
        """The denials of a sentence without negations."""
        place, start = self.main_verb(), self.start()
        if bare := self._bare(start):
            yield [self._edit(start, f"{_SUPPORT[bare[0]]} not {bare[1]}"), *self._swapped(start, _ANY)]
        if bare or place is None:
            return
        last = place + (self.words[place] in WORDS["clitics"])
        if not any(tag[:2] in ("NN", "PR", "EX", "DT", "CD") for tag in self.tags[start:last]):
            return
        after, subject = self.words[place + 1], self.words[start:last]
        no = [self._edit(start, "no")]
        if not WORDS["partial"].isdisjoint(subject):
            yield from [no] if subject[0] == "some" and self.tags[start + 1][:2] in ("NN", "JJ") else []
            return
        if subject[-1] == "there" and after in ("a", "an", "some"):
            yield [self._edit(place + 1, "no")]
        elif (
            after not in WORDS["limits"] and subject[-1] not in _STOPS and {"only", "just"}.isdisjoint(subject)
        ):
            is_name = self.tags[start].startswith("NNP") and (
                place == start + 1 or self.tags[start + 1].startswith("NNP")
            )
            is_definite = is_name or subject[0] in WORDS["definite"] or self.tags[start].startswith("PRP")
            yield from self._denied(place, is_definite=is_definite)
        is_progressive = self.words[place] in WORDS["be"] and self.tags[place + 1] == "VBG"
        if (
            subject[0] in ("a", "an")
            and start == 0
            and is_progressive
            and WORDS["undenied"].isdisjoint(self.words)
        ):
            yield no

    def _denied(self, place: int, *, is_definite: bool) -> Iterator[list[Edit]]:
        """The denial with "not" after a finite verb.

        Do-support is for definite subjects and what holds in general.
        """
        word, tag, before, after = self.words[place], self.tags[place], place - 1, place + 1
        while self.tags[after] == "RB":
            after += 1
        lemma = verb_lemma(word, tag)
        is_sure = is_definite or (tag != "VBD" and lemma in WORDS["general"])
        is_compound = (word in WORDS["have"] and self.tags[after] in ("VBN", "VBD")) or (
            word in WORDS["do"] and self.tags[after] == "VB" and verb_lemma(self.words[after], "VB")
        )
        if word in WORDS["unsure"]:
            return
        if word in WORDS["be"] | WORDS["clitics"] | WORDS["modals"] or is_compound:
            end = place + 1 + (self.words[place + 1] in WORDS["adverbs"])
            edits = [self._edit(place, "cannot" if word == "can" else f"{self.tokens[place].text} not", end)]
        elif tag not in _SUPPORT or not is_sure or lemma is None:
            return
        elif self.tags[before] == "RB" and self.words[before].endswith("ly"):
            support = f"{_SUPPORT[tag]} not {self.tokens[before].text}"
            edits = [self._edit(before, support), self._edit(place, lemma)]
        else:
            first = place - (self.words[before] in WORDS["adverbs"])
            edits = [self._edit(first, f"{_SUPPORT[tag]} not {lemma}", place + 1)]
        yield edits + self._swapped(place, _ANY)

    def without(self, place: int) -> list[Edit] | None:
        """The edits that take out the only negation, if it is the main clause's."""
        word, verb, after = self.words[place], self.main_verb(), self.tags[place + 1]
        first = place - (word in ("not", "never"))
        stem = self.words[first] if first < place else _STEMS.get(word, word.removesuffix("n't"))
        if verb == first and stem in WORDS["do"]:
            tag, bare = next(tag for tag, form in _SUPPORT.items() if form == stem), self.words[place + 1]
            new = inflect(bare, tag) if after == "VB" and verb_lemma(bare, "VB") else None
            return None if new is None else [self._edit(first, new, place + 2), *self._swapped(place, _SOME)]
        if verb == first and stem != word:
            return [self._edit(first, stem, place + 1), *self._swapped(place, _SOME)]
        if word == "never" and verb == place + 1:
            return [self._edit(place, self.words[verb], verb + 1)]
        return None if {*self.words[:place]} & _CLAUSE_STARTS else self._with_noun(place)

    def _with_noun(self, place: int) -> list[Edit] | None:
        """The edits that put a noun in where there is none: "no man", "nobody", "without a hat"."""
        word, after, head = self.words[place], self.words[place + 1], place + 1
        if word == "no" and after == "one":
            return [self._edit(place, "someone", place + 2)]
        if word == "no":
            while self.tags[head] in ("JJ", "RB") or self.tags[head + 1 : head + 2] in (["NN"], ["NNS"]):
                head += 1
            is_some = self.tags[head] == "NNS" or self.words[head] in WORDS["uncountable"]
            new = "some" if is_some else "an" if wants_an(after) else "a"
            is_clause = self.main_verb() is not None
            return [self._edit(place, new)] if is_clause and self.tags[head] in ("NN", "NNS") else None
        is_alone = self.tokens[place].text == word and not {*self.words[place - 1 : place]} & WORDS["be"]
        if word not in _SOMEBODY or not (place == 0 or is_alone) or self.tags[head] in ("TO", "VBG"):
            return None
        return [self._edit(place, _SOMEBODY[word]), *self._swapped(place, _SOME)]

    def _bare(self, start: int) -> tuple[str, str] | None:
        """The tag and lemma of a verb that begins a clause without subject: "Click it.", "Returns the value."."""
        word, has_object = self.words[start], self.tags[start + 1 : start + 2] in (["DT"], ["PRP$"])
        is_verb = self.tags[start] in ("VB", "VBP") or has_object
        if is_verb and verb_lemma(word, "VB") and word not in WORDS["be"] | WORDS["have"]:
            return "VBP", word
        lemma = verb_lemma(word, "VBZ") if has_object and word.endswith("s") else None
        return ("VBZ", lemma) if lemma else None

    def _swapped(self, place: int, changes: Mapping[str, str]) -> list[Edit]:
        """The edits of "some" or "any" in the rest of the clause."""
        edits = []
        for later in range(place + 1, len(self.tokens)):
            if self.words[later] in _STOPS | _CLAUSE_STARTS or self.tags[later] == "CC":
                break
            edits += [self._edit(later, changes[self.words[later]])] if self.words[later] in changes else []
        return edits

    def _is_finite(self, place: int) -> bool:
        if self.words[place] in WORDS["be"] | WORDS["clitics"]:
            return True
        return self.tags[place] in ("MD", *_SUPPORT) and self.tags[place - 1] != "TO"

    def _is_participle(self, place: int) -> bool:
        """Whether a past form is no verb of its own: "a man dressed in black is sitting", and "Man shot by police"."""
        word, tag, after = self.words[place], self.tags[place], self.tags[place + 1]
        if tag == "VBD" and self.tags[place - 1] in ("JJ", "DT") and after in ("NN", "NNS"):
            return True
        if tag != "VBD" or after not in ("IN", "TO", "RB", "") or word in WORDS["be"] | WORDS["have"]:
            return False
        if self.words[-2] != "." and verb_lemma(word, "VBN"):
            return True
        for later in range(place + 1, len(self.tokens)):
            if self.words[later] in {*_STOPS, *_CLAUSE_STARTS, "that"} or self.tags[later] in (
                "CC",
                "PRP",
                "WDT",
            ):
                break
            if self._is_finite(later):
                return True
        return False

    def _edit(self, place: int, new: str, end: int | None = None) -> Edit:
        """The edit of a token, or of those before `end`, to `new` in the case of the first one's first letter."""
        start, stop = self.tokens[place].start, self.tokens[(end or place + 1) - 1].end
        return Edit(start, stop, self.text[start:stop], matching_case(self.text[start], new))
