"""What each view does to 2,000 STS-B training sentences and 2,000 captions, with nlpaug's beside ours; one table.

python benchmarks/views.py --data DIR [--judge all-MiniLM-L6-v2] [--rows synonym,nlpaug-synonym] [--sentences 2000]

DIR holds `sts/stsbenchmark/sts-train.csv` and `corpora/multi30k-task2/train.1.en.gz`; the judge is a
sentence-transformers encoder that no view uses. Everything is counted from the texts alone, by a word-level diff of
each sentence and its view, so that both sides are measured alike; only the share achieved is our views' own: of the
eligible words (synonym) or of all words (mlm-fill), the mean over the rows that have any. A non-word is a new word that
wordfreq's English list lacks.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path

import numpy as np
from nlpaug_rows import NLPAUG_ROWS, Row
from wordfreq import zipf_frequency

from augment.text.words import FUNCTION_WORDS
from augment.view import ViewSpec, make_view, row_seed

OURS = {
    "synonym": ViewSpec("synonym"),
    **{f"synonym, fraction {share}": ViewSpec("synonym", {"fraction": share}) for share in (0.4, 0.5)},
    "mlm-fill": ViewSpec("mlm-fill"),
    "mlm-fill, any word": ViewSpec("mlm-fill", {"words": "any"}),
    "span-mask": ViewSpec("span-mask"),
    "backtranslate de": ViewSpec("backtranslate", {"pivot": "de", "models": "starter"}),
    "backtranslate fr": ViewSpec("backtranslate", {"pivot": "fr", "models": "starter"}),
}
WORD = re.compile(r"\w+(?:[-'’.]\w+)*|\s+|[^\w\s]")
SPECIAL = re.compile(r"\[(?:MASK|UNK|CLS|SEP|PAD)\]|</?s>|<(?:mask|unk|pad)>|⁇|>>\w+<<")
WHOLE = ("span-mask", "backtranslate de", "backtranslate fr", "nlpaug BackTranslationAug de")
"""Rows whose views do not replace words one by one."""
FRACTIONS = ("synonym", "mlm-fill")
NOTHING = ("no-eligible-word", "no-proposal")
"""Reasons of rows in which nothing could be changed: they have no share to count."""
ARTICLES = frozenset(["a", "an"])
Texts = Sequence[str]


@dataclass(frozen=True)
class Made:
    """The views of one corpus: a text for each sentence or None, and seconds; for ours also what they record.

    That is the share of words that each achieved, and how many edits change nothing but case.
    """

    views: list[str | None]
    fractions: list[float] | None
    seconds: float
    idle_edits: int | None = None


@dataclass(frozen=True)
class Change:
    """How one view differs from its sentence, from their texts alone."""

    words: int
    changed: int
    longer: int
    stop_words: int
    broken: bool
    special: bool
    new: int
    non_words: int


def corpora(data: Path, sentences: int) -> dict[str, list[str]]:
    """A seeded sample of distinct sentences of each corpus."""
    with (data / "sts/stsbenchmark/sts-train.csv").open(encoding="utf-8") as lines:
        sts = [cell.strip() for line in lines for cell in line.rstrip("\n").split("\t")[5:7]]
    with gzip.open(data / "corpora/multi30k-task2/train.1.en.gz", "rt", encoding="utf-8") as lines:
        captions = [line.strip() for line in lines]
    return {
        name: random.Random(0).sample(sorted(set(filter(None, texts))), sentences)
        for name, texts in (("STS-B", sts), ("captions", captions))
    }


def make_ours(spec: ViewSpec, texts: Texts) -> Made:
    """Our view, its models loaded before the clock starts."""
    view = make_view(spec)
    view(texts[:8], range(8))
    seeds = [row_seed(0, text, view.spec.seed_key()) for text in texts]
    started = time.perf_counter()
    made = view(texts, seeds)
    seconds = time.perf_counter() - started
    shares = [
        one.achieved_fraction for one in made if one.target_fraction is not None and one.reason not in NOTHING
    ]
    fractions = [share for share in shares if share is not None] if spec.name in FRACTIONS else []
    idle = sum(edit.old.casefold() == edit.new.casefold() for one in made for edit in one.edits)
    return Made([one.text for one in made], fractions, seconds, idle)


def make_theirs(make: Callable[[Sequence[str]], Row], texts: Texts) -> Made:
    """A view of nlpaug's."""
    return Made(*make(texts))


def changes(text: str, view: str) -> Change:
    """Count by a word-level diff; "broken" means that white space or punctuation outside changed words differs."""
    before, after = WORD.findall(text), WORD.findall(view)
    changed = longer = stop_words = 0
    written: list[str] = []
    broken = False
    for what, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        old, new = _words(before[i:j]), _words(after[k:m])
        changed += max(len(old), min(len(new), 1))
        longer += len(new) > len(old)
        written += new
        stop_words += sum(word.lower() in FUNCTION_WORDS and word.lower() not in ARTICLES for word in old)
        broken |= len(new) <= len(old) and _rest(before[i:j]) != _rest(after[k:m])
    special = bool(set(SPECIAL.findall(view)) - set(SPECIAL.findall(text)))
    non_words = sum(zipf_frequency(word, "en") == 0 for word in written)
    return Change(len(_words(before)), changed, longer, stop_words, broken, special, len(written), non_words)


def _words(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if token[0].isalnum() or token[0] == "_"]


def _rest(tokens: Sequence[str]) -> str:
    return "".join(token for token in tokens if not (token[0].isalnum() or token[0] == "_"))


def cells(texts: Texts, made: Made, similarity: float | None, *, by_word: bool) -> list[str]:
    """One row of the table for one corpus; what counts words only where the view replaces words."""
    there = [(text, view) for text, view in zip(texts, made.views, strict=True) if view is not None]
    found = [changes(text, view) for text, view in there]
    differs = [change.changed > 0 or text != view for change, (text, view) in zip(found, there, strict=True)]
    achieved = f"{np.mean(made.fractions):.3f}" if made.fractions else "–"
    all_words = sum(change.words for change in found)
    words = [
        achieved,
        f"{sum(change.changed for change in found) / all_words:.3f}",
        f"{sum(change.longer > 0 for change in found)}",
        f"{sum(change.stop_words for change in found)}",
        f"{sum(change.broken for change in found)}",
        "–" if made.idle_edits is None else str(made.idle_edits),
        f"{sum(change.non_words for change in found)} of {sum(change.new for change in found):,}",
    ]
    return [
        *(words if by_word else ["–"] * len(words)),
        f"{sum(change.special for change in found)}",
        f"{100 * (1 - np.mean(differs)):.1f}",
        f"{100 * (1 - len(there) / len(texts)):.1f}",
        "–" if similarity is None else f"{similarity:.3f}",
        f"{len(texts) / made.seconds:,.0f}",
    ]


COLUMNS = (
    "view",
    "corpus",
    "achieved",
    "of all words",
    "rows with phrases",
    "stop words",
    "rows broken",
    "idle edits",
    "non-words",
    "rows with special tokens",
    "% unchanged",
    "% failed",
    "similarity",
    "rows/s",
)


def judged(judge: str | None) -> Callable[[Texts, Sequence[str | None]], float | None]:
    """Mean cosine of sentences and views by an encoder, over the views that are there."""
    if judge is None:
        return lambda texts, views: None
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(judge, device="cpu")

    def similarity(texts: Texts, views: Sequence[str | None]) -> float:
        there = [(text, view) for text, view in zip(texts, views, strict=True) if view is not None]
        a, b = (encoder.encode(list(side), normalize_embeddings=True) for side in zip(*there, strict=True))
        return float(np.mean(np.sum(a * b, axis=1)))

    return similarity


def rows(wanted: Sequence[str], data: Path, sentences: int, judge: str | None) -> Iterator[list[str]]:
    """The table, row by row."""
    similarity = judged(judge)
    texts = corpora(data, sentences)
    makers: dict[str, Callable[[Texts], Made]] = {
        **{name: partial(make_ours, spec) for name, spec in OURS.items()},
        **{name: partial(make_theirs, make) for name, make in NLPAUG_ROWS.items()},
    }
    for name in wanted or makers:
        for corpus, sample in texts.items():
            # an augmenter too old for its library
            try:
                made = makers[name](sample)
            except (
                AttributeError,
                ImportError,
                TypeError,
                ValueError,
            ) as error:
                yield [
                    name,
                    corpus,
                    f"does not run: {type(error).__name__}: {str(error).splitlines()[0][:80]}",
                ]
                continue
            yield [
                name,
                corpus,
                *cells(sample, made, similarity(sample, made.views), by_word=name not in WHOLE),
            ]


def main() -> None:
    """Print a Markdown table, each row as it comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--judge", help="sentence-transformers folder or name, for the similarity")
    parser.add_argument("--rows", default="", help="names of rows, with ; between them")
    arguments = parser.parse_args()
    sys.stdout.write(f"| {' | '.join(COLUMNS)} |\n|---|---|{'--:|' * (len(COLUMNS) - 2)}\n")
    wanted = [name for name in arguments.rows.split(";") if name]
    for row in rows(wanted, arguments.data, arguments.sentences, arguments.judge):
        sys.stdout.write(f"| {' | '.join(row)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
