"""Score the starter translation models: captions, everyday sentences, round trips, and whether input matters.

    python recipes/starter_scores.py --data ../shared/data --text build/starter

BLEU and chrF are sacrebleu's, greedy decoding. Captions: Multi30k test_2016_flickr. Everyday: 1,000 English
sentences of Tatoeba that were held out with all their translations; one reference each, and all that Tatoeba has.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from sacrebleu import corpus_bleu, corpus_chrf

from augment.translate.marian import MarianTranslator
from augment.translate.models import resolve_models

PIVOTS = ("de", "fr")
Translators = dict[tuple[str, str], MarianTranslator]


def captions(data: Path, language: str) -> list[str]:
    """Return the 1,000 lines of Multi30k's test_2016_flickr in a language."""
    path = data / "parallel" / "multi30k" / f"test_2016_flickr.{language}.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def held_out(text: Path, language: str) -> dict[str, list[str]]:
    """Return the held-out English sentences with all their translations."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in (text / f"held-out.en-{language}.tsv").read_text(encoding="utf-8").splitlines():
        english, other = line.split("\t")
        found[english].append(other)
    return found


def load(models: str, decode: str) -> Translators:
    """Return a translator for each direction."""
    found = {}
    for pair in [pair for pivot in PIVOTS for pair in (("en", pivot), (pivot, "en"))]:
        model = resolve_models(models, *pair)
        found[pair] = MarianTranslator(model.path, prefix=model.prefix, decode=decode)
    return found


def translated(translators: Translators, pair: tuple[str, str], texts: Sequence[str]) -> list[str]:
    """Translate, with an empty string where nothing came out."""
    return [translation.text or "" for translation in translators[pair].translate(texts)]


def row(name: str, values: Sequence[object]) -> None:
    """Print one line of a Markdown table."""
    print(f"| {name} | {' | '.join(f'{value:.1f}' if isinstance(value, float) else str(value) for value in values)} |")


def score_direction(translators: Translators, pair: tuple[str, str], data: Path, text: Path) -> None:
    """Print BLEU and chrF of one direction, on captions and on everyday sentences."""
    source, target = pair
    everyday = held_out(text, target if source == "en" else source)
    sources = list(everyday) if source == "en" else [others[0] for others in everyday.values()]
    references = list(everyday.values()) if source == "en" else [[english] for english in everyday]
    most = max(map(len, references))
    every = [[refs[index] if index < len(refs) else None for refs in references] for index in range(most)]
    start = time.perf_counter()
    images = translated(translators, pair, captions(data, source))
    speed = 1_000 / (time.perf_counter() - start)
    written = translated(translators, pair, sources)
    shifted = translated(translators, pair, [*sources[1:], sources[0]])
    changed = sum(one != other for one, other in zip(written, shifted, strict=True)) / len(written)
    gold = [captions(data, target)]
    figures = [corpus_bleu(images, gold).score, corpus_chrf(images, gold).score]
    figures += [corpus_bleu(written, every[:1]).score, corpus_bleu(written, every).score]
    figures += [corpus_chrf(written, every[:1]).score, 100 * changed, speed]
    row(f"{source}-{target}", figures)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--models", default="starter", help="as of `augment backtranslate`")
    parser.add_argument("--decode", default="greedy", help="as of `augment backtranslate`")
    options = parser.parse_args()
    translators = load(options.models, options.decode)
    print("| direction | captions BLEU | chrF | everyday BLEU | (all references) | chrF | % differ | sentences/s |")
    print("|---|---|---|---|---|---|---|---|")
    for pair in translators:
        score_direction(translators, pair, options.data, options.text)
    print("\n| round trip | everyday: mean sentence chrF to the original | % unchanged |")
    print("|---|---|---|")
    for pivot in PIVOTS:
        english = list(held_out(options.text, pivot))
        back = translated(translators, (pivot, "en"), translated(translators, ("en", pivot), english))
        pairs = list(zip(back, english, strict=True))
        mean = sum(corpus_chrf([one], [[other]]).score for one, other in pairs) / len(pairs)
        same = 100 * sum(one == other for one, other in pairs) / len(pairs)
        row(f"en-{pivot}-en", [mean, same])


if __name__ == "__main__":
    main()
