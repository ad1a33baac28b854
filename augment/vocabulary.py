"""The whole words of a tokenizer's vocabulary: WordPiece (BERT), byte-level BPE (RoBERTa), SentencePiece (XLM-R)."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from augment.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CONTINUED = "##"
BYTES = "Ġ"
SPACES = (BYTES, "▁")
"""How tokens begin that stand after a space: of byte-level tokenizers, which spell all in bytes, and SentencePiece."""
LEAST_MARKED = 0.05
"""A mark that fewer tokens carry is a character of the vocabulary, not the tokenizer's way to mark words."""
LEAST_WORDS = 200
LEAST_SHARE = 0.03
"""A script with fewer words than this, or than this share of a small vocabulary, is foreign to the model."""
UNSPACED = frozenset(["CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR"])
"""Scripts without spaces between words."""


class Slot(NamedTuple):
    """The kind of word that a place takes: its script, no capitals, and no space before it (after a bracket)."""

    script: str | None
    lower: bool
    bare: bool


class Words(NamedTuple):
    """Ids of tokens, and the words that they spell in lower case; several tokens may spell one word."""

    ids: list[int]
    spellings: list[str]


class WholeWords:
    """What may fill a single place so that a whole word stands there, by the kind of place.

    Left out: pieces of words, special tokens, whatever holds digits or punctuation, single letters, words that mix
    scripts, and capitalised words that have no lower-case entry, which are names.

    Args:
        tokenizer: A fast tokenizer.

    Raises:
        InputError: It marks words in none of the three ways, or has no whole words.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        vocabulary: Mapping[str, int] = tokenizer.get_vocab()
        self.mark = _mark(vocabulary, str(tokenizer.name_or_path))
        special = set(tokenizer.all_special_tokens)
        decoder = tokenizer.backend_tokenizer.decoder
        in_bytes = self.mark == BYTES
        spelt: Callable[[str], str] = (lambda token: decoder.decode([token]).strip()) if in_bytes else str
        kept = [token for token in vocabulary if token not in special]
        marked = _spellings((token for token in kept if token.startswith(self.mark)), self.mark, spelt)
        lower = {word for word in marked.values() if word == word.lower()}
        self._spaced = {t: w for t, w in marked.items() if w.lower() in lower}
        bare = _spellings((token for token in kept if not token.startswith(self.mark)), "", spelt) if self.mark else {}
        self._bare = {t: w for t, w in bare.items() if w.lower() in lower} if self.mark else self._spaced
        self._ids = vocabulary
        self._of: dict[Slot, Words] = {}
        if not self._spaced:
            raise InputError(f"--encoder {tokenizer.name_or_path}: its vocabulary has no whole words to fill in")

    def fitting(self, slot: Slot) -> Words:
        """The words that may stand in a place of this kind, by their ids; none where the vocabulary has none."""
        if slot not in self._of:
            table = self._bare if slot.bare else self._spaced
            found = sorted(
                (self._ids[token], word.lower())
                for token, word in table.items()
                if script_of(word) == slot.script and not (slot.lower and word != word.lower())
            )
            self._of[slot] = Words([number for number, _ in found], [word for _, word in found])
        return self._of[slot]

    def serves(self, slot: Slot) -> bool:
        """Whether the vocabulary has enough words for such a place: the few Greek words of an English model are not."""
        return len(self.fitting(slot).ids) >= min(LEAST_WORDS, LEAST_SHARE * len(self._spaced))

    def slot(self, word: str, first: str) -> Slot:
        """The kind of place that a word of a text leaves, given the first of the tokens that it is cut into."""
        return Slot(script_of(word), word == word.lower(), bool(self.mark) and not first.startswith(self.mark))


def script_of(word: str) -> str | None:
    """The script that all letters of a word share ("LATIN", "CYRILLIC", "CJK"), None if they do not."""
    scripts = {_script(letter) for letter in word if not unicodedata.category(letter).startswith("M")}
    return scripts.pop() if len(scripts) == 1 else None


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def _mark(vocabulary: Mapping[str, int], name: str) -> str:
    """What a token that begins a word begins with; "" for WordPiece, which marks the pieces that do not."""
    counts: dict[str, int] = defaultdict(int)
    for token in vocabulary:
        counts[token[:1]] += 1
        counts[CONTINUED] += token.startswith(CONTINUED)
    marks = [mark for mark in SPACES if counts[mark] > LEAST_MARKED * len(vocabulary)]
    if marks:
        return max(marks, key=lambda mark: counts[mark])
    if counts[CONTINUED]:
        return ""
    raise InputError(
        f"--encoder {name}: its vocabulary marks words in no way known here (## as BERT, Ġ as RoBERTa, ▁ as XLM-R)"
    )


def _spellings(tokens: Iterator[str], mark: str, spelt: Callable[[str], str]) -> dict[str, str]:
    """Tokens that are whole words, and how these are written."""
    found = {}
    for token in tokens:
        word = token.removeprefix(mark)
        if not word.isascii():
            word = spelt(word)
        if len(word) > 1 and _is_word(word):
            found[token] = word
    return found


def _is_word(word: str) -> bool:
    """Whether all characters are letters or marks, and the first is a letter of a script with words."""
    if not word[0].isalpha() or not all(c.isalpha() or unicodedata.category(c).startswith("M") for c in word):
        return False
    script = script_of(word)
    return script is not None and script not in UNSPACED
