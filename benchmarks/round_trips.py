"""What back-translation by the bundled models keeps of a sentence, before and after choosing between candidates.

python benchmarks/round_trips.py --data DIR --judge DIR [--rows 500] [--show 50] [--pivots de,fr] [OPTION=VALUE ...]

Prints a row for plain greedy search (`--candidates 1 --min-meaning 0`) and one for the defaults, or for the options
given, such as `candidates=8` or `diverse=true`, of each corpus and pivot. Corpora: the sample corpus, 1,000 captions of
Multi30k's test_2016_flickr, and 1,000 of the STS-B training sentences that Mirror-BERT ships. *Cosine*: the mean of
the rows that are `ok`, by the judge, a sentence-transformers encoder that no view uses; *below 0.6*: their share.
*Non-words*: the share of `ok` rows with a word of three letters or more that neither the sentence nor wordfreq has.
*Seconds*: of processor time, and how often those of greedy search; model loading is not counted. `--floors` prints what
each floor of meaning would fail, and the cosine of the rest.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import time
from pathlib import Path

import numpy as np
import yaml
from wordfreq import zipf_frequency

from augment.meaning.judge import Judge, sentence_encoder
from augment.models.weights import find_encoder
from augment.view import JSON, ViewResult, ViewSpec, make_view

SAMPLE = Path(__file__).parent.parent / "pipelines" / "sample" / "sentences.txt"
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
GREEDY = {"candidates": 1, "min_meaning": 0.0}


def corpora(data: Path, rows: int | None) -> dict[str, list[str]]:
    """Return the sentences by corpus, the first `rows` of each."""
    with gzip.open(data / "parallel" / "multi30k" / "test_2016_flickr.en.gz", "rt", encoding="utf-8") as lines:
        captions = [line.strip() for line in lines]
    stsb = (
        (data / "corpora" / "stsbenchmark_train_10k_sents_random_sampled.txt").read_text("utf-8").splitlines()
    )
    texts = {
        "sample": SAMPLE.read_text("utf-8").split("\n"),
        "captions": captions,
        "STS-B": random.Random(0).sample(sorted(filter(None, {line.strip() for line in stsb})), 1_000),
    }
    return {name: [text for text in lines if text.strip()][:rows] for name, lines in texts.items()}


def has_non_word(text: str, view: str) -> bool:
    """Whether a view has a word that is none."""
    own = {word.lower() for word in WORD.findall(text)}
    words = {word.lower() for word in WORD.findall(view)} - own
    return any(len(word) > 2 and zipf_frequency(word, "en") == 0 for word in words)


def round_trips(texts: list[str], params: dict[str, JSON]) -> tuple[list[ViewResult], float]:
    """Return the views and the seconds of processor time that they took."""
    view = make_view(ViewSpec("backtranslate", {"models": "starter", **params}), device="cpu")
    view(texts[:8], range(8))
    started = time.process_time()
    return view(texts, range(len(texts))), time.process_time() - started


def main() -> None:
    """Print the table, then views drawn at random."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--rows", type=int, help="of each corpus; all if not given")
    parser.add_argument("--corpora", default="sample,captions,STS-B")
    parser.add_argument("--pivots", default="de,fr")
    parser.add_argument("--show", type=int, default=0, help="print so many `ok` rows")
    parser.add_argument("--floors", action="store_true")
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE")
    options = parser.parse_args()
    chosen = {
        key: yaml.safe_load(value) for key, _, value in (option.partition("=") for option in options.options)
    }
    judge = sentence_encoder(options.judge, "cpu")
    found = corpora(options.data, options.rows)
    print(
        "| corpus | pivot | candidates | cosine | % below 0.6 | % unchanged | % failed | % non-words | rows/s | times |"
    )
    print("|---|---|---|--:|--:|--:|--:|--:|--:|--:|")
    shown, floors = [], []
    for corpus in options.corpora.split(","):
        texts = found[corpus]
        vectors = judge.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        for pivot in options.pivots.split(","):
            greedy = 0.0
            for name, params in (("1", GREEDY), ("chosen", chosen)):
                views, seconds = round_trips(texts, {"pivot": pivot, **params})
                greedy = greedy or seconds
                places = [place for place, view in enumerate(views) if view.status == "ok"]
                ours = [views[place].text or "" for place in places]
                cosines = (
                    judge.encode(ours, normalize_embeddings=True, show_progress_bar=False) * vectors[places]
                ).sum(1)
                shares = [
                    (cosines < 0.6).mean(),
                    np.mean([view.status == "unchanged" for view in views]),
                    np.mean([view.status == "failed" for view in views]),
                    np.mean(
                        [has_non_word(texts[place], view) for place, view in zip(places, ours, strict=True)]
                    ),
                ]
                cells = [f"{cosines.mean():.3f}", *(f"{100 * share:.1f}" for share in shares)]
                cells += [f"{len(texts) / seconds:.0f}", f"{seconds / greedy:.1f}"]
                print(f"| {corpus} | {pivot} | {name} | {' | '.join(cells)} |", flush=True)
            shown += [(corpus, pivot, texts[place], views[place].text) for place in places]
            if options.floors:
                own = Judge(find_encoder("starter"), "ctranslate2", "int8", "cpu")
                rows = own.scores([texts[place] for place in places], [[view] for view in ours])
                closeness = np.array([next(iter(row.values())) for row in rows])
                floors.append((corpus, pivot, len(texts), closeness, cosines))
    for corpus, pivot, size, closeness, cosines in floors:
        print(f"\n{corpus} {pivot}: floor, % of all rows below it, cosine of the others")
        for floor in np.arange(0.7, 0.96, 0.01):
            passing = closeness >= floor - 1e-6
            print(f"{floor:.2f} {100 * (~passing).sum() / size:5.1f} {cosines[passing].mean():.4f}")
    for corpus, pivot, text, view in random.Random(0).sample(shown, options.show):
        print(f"\n{corpus} {pivot}: {text}\n    {view}")


if __name__ == "__main__":
    main()
