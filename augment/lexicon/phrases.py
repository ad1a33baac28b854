"""Expressions of a reviewed list, and what they become in their context: "a lot of", "is playing", "don't"."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

import regex

from augment.lexicon.synonyms import corrected, form_like
from augment.text.edits import Token
from augment.text.english import INFLECTED, inflect, verb_lemma
from augment.text.facts import Change
from augment.text.words import Pattern, by_needed_word, fixed_places, matches, plain_places, word_list

_PART = regex.compile(r"\[ (.+?) => (.+?) \]")
_SET = regex.compile(r"@(\w+)")
_LEMMAS = regex.compile(r"([\w|-]+)/([NV])\b")


def phrases(tokens: Sequence[Token], tags: Sequence[str]) -> list[tuple[Change, ...]]:
    r"""What the expressions of a sentence may become: changes of several places belong together.

    A line of the list `phrases` is a pattern as in `matches`, of which every `[ OLD => NEW ]` is replaced, or the
    whole of a line without any; `NAME = ...` says what `@NAME` stands for. `take/V` is any form of a verb, `/N`
    of a noun. In NEW, `\2` is the second word of OLD, `\2/VBZ` the verb that it is in that form, and `join/2`
    another word in its form.
    """
    index, rules = _rules()
    changeable = {*plain_places(tokens)} - fixed_places("word", tokens, tags)
    choices = set[tuple[Change, ...]]()
    for pattern, (_, *olds) in matches(index, tokens, tags):
        for news in rules[pattern] if all(map(changeable.issuperset, olds)) else ():
            changes = [_change(tokens, tags, *part) for part in zip(olds, news, strict=True)]
            if None not in changes:
                choices.add(tuple(filter(None, changes)))
    return sorted(choices)


def _change(tokens: Sequence[Token], tags: Sequence[str], places: range, new: str) -> Change | None:
    """What a part becomes; None if a word has no such form."""
    words = [(tokens[place].text.lower(), tags[place]) for place in places]
    forms = [_form(item, words) for item in new.split()]
    return None if None in forms else Change(places.start, places.stop, " ".join(filter(None, forms)))


def _form(item: str, words: Sequence[tuple[str, str]]) -> str | None:
    """A word of what replaces some words with their tags."""
    name, _, form = item.partition("/")
    if not form and not name.startswith("\\"):
        return item
    word, tag = words[int(form if form.isdigit() else name[1:]) - 1]
    if not form:
        return word
    # The tagger takes "sits" for a noun.
    verb = verb_lemma(word, tag if tag[0] == "V" else "VBZ")
    if tag[0] == "V" and verb is None:  # "just ate" is none of "eat" to a tagger that sees a present there
        return None
    if form.isdigit():
        return form_like(name, verb or word, corrected(tag, word, verb or word))
    return inflect(verb, form) if verb else None


@cache
def _rules() -> tuple[Mapping[str, Sequence[Pattern]], Mapping[Pattern, list[list[str]]]]:
    """The patterns by a word that they need, and the replacements of each."""
    sets, rules = dict[str, str](), defaultdict[Pattern, list[list[str]]](list)
    for line in word_list("phrases"):
        name, is_set, words = line.partition(" = ")
        expanded = _SET.sub(lambda match: sets[match[1]], words or line)
        if is_set:
            sets[name] = expanded
            continue
        marked = expanded if "[ " in expanded else f"[ {expanded} ]"
        pattern = _LEMMAS.sub(_forms, _PART.sub(r"( \1 )", marked))
        rules[(*pattern.split(),)].append([new for _, new in _PART.findall(marked)])
    return by_needed_word(rules), rules


def _forms(match: regex.Match[str]) -> str:
    """The forms of lemmas, with the tag that they must have."""
    lemmas, part = match.groups()
    tags = ["VB", *(tag for tag in INFLECTED if tag[0] == part)]
    forms = {inflect(lemma, tag) for lemma in lemmas.split("|") for tag in tags}
    return f"(?:{'|'.join(sorted(filter(None, forms)))})(?=/{part})"
