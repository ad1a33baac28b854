"""MarianMT: texts packed by token budget, long ones in pieces, bad translations tried once more."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import regex

from augment.models.device import pack, padded, resolve_engine
from augment.models.loading import loading
from augment.text.sentences import sentences
from augment.translate.decoding import USUAL_LENGTH, Decoding, Vocabulary
from augment.view import row_seed

if TYPE_CHECKING:
    from augment.translate.ctranslate import CTranslate2Engine
    from augment.translate.pytorch import TransformersEngine

CLAUSE = regex.compile(r"(.*[^\s;])\s*(?<!&#?\w{1,10});", regex.DOTALL)
KEEPS_CAPITAL = regex.compile(r"I\b|.\p{Lu}")
"""What keeps its capital inside a sentence, in English or as an acronym."""
CLAUSES = regex.compile(r"(?<=(?<!&#?\w{1,10});) ")
"""The space behind a semicolon, unless that ends an entity of HTML."""
SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]{0,3}(?=\s+[^\sa-z])|[。！？]")
CLAUSE_END = re.compile(r"[,;:.!?–—](?=\s)|[，；：、]")
WORD_END = re.compile(r"\S(?=\s)")
CJK = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\u3001-\u303f\u30fb-\u30fc\uff01-\uff65]")
"""Characters of Chinese and Japanese, with no space before or after them."""


NOTHING = "nothing-to-translate"


class Translation(NamedTuple):
    """A translation, whether it is a second try, and why it cannot be used, if so.

    Reasons are "no-end" (cut at the length limit), "repetition" (of three tokens), "copied" (the source),
    "empty", and "nothing-to-translate" (no letters, or a script that the model does not know; the text is then
    the source).
    """

    text: str
    reason: str | None = None
    retried: bool = False


class _Piece(NamedTuple):
    """A text to translate as a whole, its token ids, the seed of its draws, and whether a semicolon followed it."""

    text: str
    ids: tuple[int, ...]
    seed: int
    is_clause: bool = False


@dataclass(eq=False)
class MarianTranslator:
    """A MarianMT model; loaded at the first sentence. `resolve_engine` explains engine, precision and device."""

    path: Path  # a folder with config.json, model.safetensors, source.spm, target.spm and vocab.json
    prefix: str | None = (
        None  # before every sentence, such as ">>de<<", for models of several target languages
    )
    decoding: Decoding = Decoding()  # noqa: RUF009 - it is frozen
    engine: str = "auto"
    precision: str = "auto"
    device: str = "auto"
    batch_tokens: int | None = None  # source tokens of a batch times beams; None for the engine's choice
    revision: str | None = None  # of the weights, if known: the name of a converted copy
    language: str = "en"  # of the source: how its sentences end
    target: str = ""  # language: German nouns keep their capitals behind a semicolon

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens; raises InputError if they cannot be read."""
        with loading(f"--models {self.path}", self.path):
            return Vocabulary(self.path)

    @cached_property
    def _engine(self) -> "CTranslate2Engine | TransformersEngine":
        """The loaded model; raises InputError if engine, precision, device and decoding do not go together."""
        engine, precision = resolve_engine(
            self.engine, self.precision, self.device, sampled=self.decoding.sampled
        )
        if engine == "ctranslate2":
            from augment.translate.ctranslate import CTranslate2Engine

            return CTranslate2Engine(self.path, self.vocabulary, precision, self.revision)
        from augment.translate.pytorch import TransformersEngine

        return TransformersEngine(self.path, self.vocabulary, precision, self.device)

    def translate(self, texts: Sequence[str], seeds: Sequence[int] | None = None) -> list[Translation]:
        """One translation a text, in order, drawn by its seed (0 by default).

        Equal rows are translated once.
        """
        return [translations[0] for translations in self.candidates(texts, seeds or [0] * len(texts), 1)]

    def candidates(self, texts: Sequence[str], seeds: Sequence[int], number: int) -> list[list[Translation]]:
        """Up to `number` good translations of each text, by one beam search or several draws, or else a bad one."""
        if not self.decoding.sampled:
            beams = max(self.decoding.num_beams, number)
            decoding = replace(self.decoding, num_beams=beams, hypotheses=number)
            return self._ranked([(text, 0) for text in texts], decoding, number)
        draw_seeds = [[seed, *(row_seed(seed, str(draw), "") for draw in range(1, number))] for seed in seeds]
        rows = [(text, seed) for text, row in zip(texts, draw_seeds, strict=True) for seed in row]
        draws = [ranked[0] for ranked in self._ranked(rows, self.decoding, 1)]
        groups = [draws[start : start + number] for start in range(0, len(draws), number)]
        return [[draw for draw in group if draw.reason is None] or group[:1] for group in groups]

    def _ranked(
        self, rows: Sequence[tuple[str, int]], decoding: Decoding, number: int
    ) -> list[list[Translation]]:
        """Up to `number` translations of each text and seed, the best first.

        Equal rows are translated once.
        """
        distinct = list(dict.fromkeys(text for text, _ in rows))
        ids = dict(zip(distinct, self.vocabulary.encode(distinct, self.prefix), strict=True))
        parts = {row: self._pieces(*row, ids[row[0]]) for row in dict.fromkeys(rows)}
        unique = dict.fromkeys(chain.from_iterable(parts.values()))
        hypotheses = {
            piece: [Translation(piece.text, NOTHING)] for piece in unique if not self._is_known(piece)
        }
        pieces = [piece for piece in unique if piece not in hypotheses]
        hypotheses |= self._translate(pieces, decoding)
        bad = [piece for piece in pieces if hypotheses[piece][0].reason is not None]
        for piece, again in self._translate(bad, decoding.retry(), attempt=1).items():
            if again[0].reason is None:
                hypotheses[piece] = [translation._replace(retried=True) for translation in again[:number]]
        joined: dict[tuple[str, int], list[Translation]] = {}
        for row, row_pieces in parts.items():
            ranked = [hypotheses[piece] for piece in row_pieces]
            # The last translation of a piece repeats.
            ranks = range(max(map(len, ranked), default=1))
            texts = [[translations[: rank + 1][-1] for translations in ranked] for rank in ranks]
            joined[row] = [_joined(row_pieces, translations, self.target) for translations in texts]
        return [joined[row] for row in rows]

    def _pieces(self, text: str, seed: int, ids: tuple[int, ...]) -> list[_Piece]:
        """The text itself, its sentences, or the parts of those that are too long; nothing if it is empty."""
        limit, pieces = self.vocabulary.limit, translated_alone(text, self.language)
        if len(pieces) == 1 and len(ids) <= limit:
            return [_Piece(text, ids, seed)]

        def count(part: str) -> int:
            return len(self.vocabulary.encode([part], self.prefix)[0])

        parts = [
            part
            for piece in pieces
            for part in ([piece] if count(piece) <= limit else split(piece, count, limit // 2))
        ]
        # Models drop a semicolon at the end, or make a full stop of it.
        clauses = [CLAUSE.fullmatch(part) for part in parts]
        texts = [clause[1] if clause else part for clause, part in zip(clauses, parts, strict=True)]
        seeds = [row_seed(seed, str(place), "") if self.decoding.sampled else 0 for place in range(len(parts))]
        encoded = self.vocabulary.encode(texts, self.prefix)
        return [_Piece(*piece) for piece in zip(texts, encoded, seeds, map(bool, clauses), strict=True)]

    def _is_known(self, piece: _Piece) -> bool:
        """Whether the model has seen most letters of a piece, and there are any."""
        letters = sum(map(str.isalpha, piece.text))
        if self.vocabulary.unknown_id not in piece.ids:
            return letters > 0
        return 2 * self.vocabulary.known_letters(piece.text) > letters

    def _translate(
        self, pieces: Sequence[_Piece], decoding: Decoding, attempt: int = 0
    ) -> dict[_Piece, list[Translation]]:
        """Each piece's good translations, or else its first; another attempt makes other draws."""
        done: dict[_Piece, list[Translation]] = {}
        # Without beams, an output begins the same whatever its limit; a longer one only makes loops longer.
        for length in (USUAL_LENGTH, decoding.length) if decoding.num_beams == 1 else (decoding.length,):
            searched = self._searched(pieces, replace(decoding, length=length), attempt)
            texts = iter(self.vocabulary.decode(output for _, outputs in searched for output in outputs))
            for piece, outputs in searched:
                judged = [self._judged(piece, output, next(texts)) for output in outputs]
                good = [translation for translation in judged if translation.reason is None]
                done[piece] = good or judged[:1]
            pieces = [piece for piece in pieces if done[piece][0].reason == "no-end"]
        return done

    def _searched(
        self, pieces: Sequence[_Piece], decoding: Decoding, attempt: int
    ) -> list[tuple[_Piece, list[list[int]]]]:
        """The pieces, the longest first, with the token ids of their hypotheses; engines search in batches."""
        engine = self._engine
        # Those of a batch end at about the same step.
        pieces = sorted(pieces, key=lambda piece: -len(piece.ids))
        widths = [padded(len(piece.ids), self.vocabulary.limit, engine.length_step) for piece in pieces]
        default = engine.batch_tokens if decoding.num_beams == 1 else engine.beam_tokens
        budget = (self.batch_tokens or default) // decoding.num_beams

        def search(rows: Sequence[int]) -> list[tuple[_Piece, list[list[int]]]]:
            batch = [pieces[row] for row in rows]
            seeds = [row_seed(piece.seed, "0", str(attempt)) for piece in batch]
            outputs = engine.search([piece.ids for piece in batch], decoding, seeds)
            return [*zip(batch, outputs, strict=True)]

        with ThreadPoolExecutor(engine.threads) as threads:
            return [*chain.from_iterable(threads.map(search, pack(widths, budget)))]

    def _judged(self, piece: _Piece, output: Sequence[int], text: str) -> Translation:
        ended = output[-1:] == [self.vocabulary.end]
        if repeats(output[: len(output) - ended], piece.ids):
            return Translation(text, "repetition")
        if not ended:
            return Translation(text, "no-end")
        if not text:
            return Translation("", "empty")
        return Translation(text, "copied" if copies(text, piece.text) else None)


def translated_alone(text: str, language: str) -> list[str]:
    """The sentences and parts up to semicolons of a text; what has no letters goes with its neighbour."""
    pieces: list[str] = []
    for line in CLAUSES.sub("\n", text).splitlines():
        for sentence in sentences(line, language) if SENTENCE_END.search(line) else [line]:
            if pieces and not (has_letters(sentence) and has_letters(pieces[-1])):
                pieces[-1] = f"{pieces[-1]} {sentence}".strip()
            else:
                pieces.append(sentence.strip())
    return [piece for piece in pieces if piece]


def has_letters(text: str) -> bool:
    """Whether there is anything to translate."""
    return any(map(str.isalpha, text))


def repeats(output: Sequence[Hashable], source: Sequence[Hashable]) -> bool:
    """Whether three tokens or words occur four times or more, and twice as often as any three in the source."""
    runs = (Counter(zip(tokens, tokens[1:], tokens[2:], strict=False)) for tokens in (output, source))
    most, there = (max(counts.values(), default=0) for counts in runs)
    return most >= max(4, 2 * there)


def copies(text: str, source: str) -> bool:
    """Whether a text has at least 90% of its source's letters and digits, in order.

    A retry may misspell a copy.
    """
    if len(source.split()) < 3:  # a name may be the same in every language
        return False
    first, second = ("".join(filter(str.isalnum, one.casefold())) for one in (text, source))
    shared = Counter(first) & Counter(second)
    least = 0.9 * (len(first) + len(second))
    # Letters in any order are counted first: most texts are no copies, and the order takes much longer.
    return 2 * shared.total() >= least and SequenceMatcher(None, first, second, autojunk=False).ratio() >= 0.9


def _joined(pieces: Sequence[_Piece], translations: Sequence[Translation], target: str) -> Translation:
    """The translations of a text's pieces, joined by spaces where scripts have them; bad if one of them is."""
    bad = [translation for translation in translations if translation.reason is not None]
    if bad or not pieces:
        return bad[0] if bad else Translation("", "empty")
    joined, follows_clause = "", False
    for piece, translation in zip(pieces, translations, strict=True):
        text = translation.text
        if follows_clause and piece.text[:1].islower() and target != "de" and not KEEPS_CAPITAL.match(text):
            text = text[:1].lower() + text[1:]
        if piece.is_clause:
            text = text.rstrip(" .,;。；") + ("；" if CJK.search(text[-1:]) else ";")
        space = " " if joined and not CJK.search(joined[-1] + text[:1]) else ""
        joined, follows_clause = joined + space + text, piece.is_clause
    return Translation(joined, retried=any(translation.retried for translation in translations))


def split(text: str, count: Callable[[str], int], limit: int) -> list[str]:
    """The text in pieces of at most `limit` tokens by `count`, none empty, without the white space between them.

    It is cut between sentences, and a sentence that is too long near its middle, after a clause, else a word,
    else a character with its combining marks, again and again. A single character over the limit stays as it
    is.
    """
    text = text.strip()
    if len(text) < 2 or count(text) <= limit:
        return [text] if text else []
    sentences, clauses, words = (
        [match.end() for match in pattern.finditer(text) if match.end() < len(text)]
        for pattern in (SENTENCE_END, CLAUSE_END, WORD_END)
    )
    middle = len(text) // 2
    letters = (
        at for at in range(middle, len(text)) if unicodedata.category(text[at]) not in ("Mn", "Me", "Cf")
    )
    near = min(clauses or words or [next(letters, middle)], key=lambda end: abs(end - middle))
    pieces = [text[start:end] for start, end in pairwise([0, *(sentences or [near]), len(text)])]
    return [short for piece in pieces for short in split(piece, count, limit)]
