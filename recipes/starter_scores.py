"""Score the starter translation models: each direction, and the round trips that become views.

    python recipes/starter_scores.py --data ../shared/data --text build/starter --judge all-MiniLM-L6-v2 --show 50

BLEU and chrF are sacrebleu's. Captions: Multi30k test_2016_flickr. Everyday: 1,000 English sentences of Tatoeba that
were held out with all their translations; one reference each, and all that Tatoeba has. News: newstest2014.

Round trips: of the held-out sentences, of the 10,000 STS-B training sentences that Mirror-BERT ships, and of the sample
corpus. A row is unrelated where its chrF is below 25 (two random sentences have 12.5); a word is no word where neither
its sentence nor wordfreq's English list has it.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sacrebleu import corpus_bleu, corpus_chrf, sentence_chrf
from wordfreq import zipf_frequency

from augment.translate.decoding import parse_decoding
from augment.translate.marian import MarianTranslator
from augment.translate.model_names import resolve_models

PIVOTS = {"de": "deu", "fr": "fra"}
ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "pipelines" / "sample" / "sentences.txt"
STSB = "corpora/stsbenchmark_train_10k_sents_random_sampled.txt"
UNRELATED = 25
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
Translators = dict[tuple[str, str], MarianTranslator]
TestSet = tuple[list[str], Sequence[Sequence[str | None]]]


def lines(path: Path) -> list[str]:
    """Read a text file, gzipped or not."""
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as file
    ):
        return [line.strip() for line in file if line.strip()]


def captions(data: Path, source: str, target: str) -> TestSet:
    """Return the 1,000 sources of Multi30k's test_2016_flickr and their references."""
    folder = data / "parallel" / "multi30k"
    return lines(folder / f"test_2016_flickr.{source}.gz"), [lines(folder / f"test_2016_flickr.{target}.gz")]


def news(data: Path, source: str, target: str) -> TestSet:
    """Return newstest2014, the English side being the same file in either direction."""
    other = PIVOTS[target if source == "en" else source]
    folder = data / "parallel" / "newstest" / f"eng-{other}"
    english, foreign = (lines(folder / f"newstest2014.{code}.gz") for code in ("eng", other))
    return (english, [foreign]) if source == "en" else (foreign, [english])


def held_out(text: Path, language: str) -> dict[str, list[str]]:
    """Return the held-out English sentences with all their translations."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in lines(text / f"held-out.en-{language}.tsv"):
        english, other = line.split("\t")
        found[english].append(other)
    return found


def everyday(text: Path, source: str, target: str) -> TestSet:
    """Return the held-out sentences; out of English with all references, into it with the one there is."""
    pairs = held_out(text, target if source == "en" else source)
    if source != "en":
        return [others[0] for others in pairs.values()], [list(pairs)]
    most = max(map(len, pairs.values()))
    references = [
        [refs[rank] if rank < len(refs) else None for refs in pairs.values()] for rank in range(most)
    ]
    return list(pairs), references


def load(models: str, precision: str, decode: str) -> Translators:
    """Return a translator for each direction."""
    found = {}
    for pair in [pair for pivot in PIVOTS for pair in (("en", pivot), (pivot, "en"))]:
        model = resolve_models(models, *pair)
        found[pair] = MarianTranslator(model.path, model.prefix, parse_decoding(decode), precision=precision)
    return found


def translated(translator: MarianTranslator, texts: Sequence[str]) -> list[str]:
    """Translate, with an empty string where nothing came out."""
    return [translation.text or "" for translation in translator.translate(texts)]


def row(name: str, values: Sequence[float]) -> None:
    """Print one line of a Markdown table."""
    print(f"| {name} | {' | '.join(f'{value:.2f}' for value in values)} |", flush=True)


def direction_scores(translator: MarianTranslator, tests: Sequence[TestSet]) -> list[float]:
    """Return BLEU and chrF of each test set, then BLEU with all references of the last."""
    scores = []
    for sources, references in tests:
        written = translated(translator, sources)
        scores += [corpus_bleu(written, references[:1]).score, corpus_chrf(written, references[:1]).score]
    return [*scores, corpus_bleu(written, references).score]


def no_words(text: str, view: str) -> tuple[int, int]:
    """Return how many words of a view are none, and how many words it has."""
    known = {word.lower() for word in WORD.findall(text)}
    words = [word.lower() for word in WORD.findall(view)]
    return sum(word not in known and zipf_frequency(word, "en") == 0 for word in words), len(words)


def trip_scores(texts: Sequence[str], views: Sequence[str], judge: str | None) -> list[float]:
    """Return mean chrF, % unrelated, mean cosine, % unchanged and % of words that are none."""
    chrf = np.array([sentence_chrf(view, [text]).score for text, view in zip(texts, views, strict=True)])
    cosine = float("nan")
    if judge:
        from sentence_transformers import SentenceTransformer

        encoder = SentenceTransformer(judge, device="cpu")
        one, other = (encoder.encode(list(side), normalize_embeddings=True) for side in (texts, views))
        cosine = float((one * other).sum(axis=1).mean())
    wrong, words = np.sum([no_words(text, view) for text, view in zip(texts, views, strict=True)], axis=0)
    same = np.mean([text == view for text, view in zip(texts, views, strict=True)])
    return [chrf.mean(), 100 * (chrf < UNRELATED).mean(), cosine, 100 * same, 100 * wrong / words]


def main() -> None:
    """Print both tables, then some round trips drawn at random."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--judge", help="a sentence-transformers directory, for the mean cosine")
    parser.add_argument("--models", default="starter", help="as of `augment backtranslate`")
    parser.add_argument("--precision", default="auto", help="as of `augment backtranslate`")
    parser.add_argument("--decode", default="greedy", help="as of `augment backtranslate`")
    parser.add_argument(
        "--show", type=int, default=0, help="print so many random round trips of STS-B sentences"
    )
    options = parser.parse_args()
    translators = load(options.models, options.precision, options.decode)

    print("| direction | captions BLEU | chrF | news BLEU | chrF | everyday BLEU | chrF | all references |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for pair, translator in translators.items():
        tests = [captions(options.data, *pair), news(options.data, *pair), everyday(options.text, *pair)]
        row("-".join(pair), direction_scores(translator, tests))
    print("\n| round trip | mean chrF | % below 25 | mean cosine | % unchanged | % no words |")
    print("|---|--:|--:|--:|--:|--:|")
    shown = []
    for pivot in PIVOTS:
        stsb = sorted(set(lines(options.data / STSB)))
        for name, texts in (
            ("everyday", list(held_out(options.text, pivot))),
            ("STS-B", stsb),
            ("sample", lines(SAMPLE)),
        ):
            views = translated(translators[pivot, "en"], translated(translators["en", pivot], texts))
            row(f"{name} en-{pivot}-en", trip_scores(texts, views, options.judge))
            shown += [(pivot, *trip) for trip in zip(texts, views, strict=True) if name == "STS-B"]
    for pivot, text, view in random.Random(0).sample(shown, options.show):
        print(f"\n{text}\n  {pivot}: {view}")


if __name__ == "__main__":
    main()
