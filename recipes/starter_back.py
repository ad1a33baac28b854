"""Translate English sentences with the forward model, as sources for the model that translates back.

    python recipes/starter_back.py --text build/starter --model build/starter/start/en-xx

A round trip is as good as the way back undoes what the way out did, so the way back is trained on what the way out
writes. Reads the English side of `xx-en.tsv`, takes the languages in turn, and writes `back.tsv`: the translation, then
the sentence. What comes out empty, cut or as a loop is left out.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from augment.translate.marian import MarianTranslator

LANGUAGES = ("de", "fr")
AT_ONCE = 20_000
LONGEST = 120
"""Characters of the longest sentence taken: views are made of sentences, most of them shorter."""


def main() -> None:
    """Write `back.tsv` and print how many sentences it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=140_000, help="translate so many, drawn at random")
    options = parser.parse_args()
    lines = (options.text / "xx-en.tsv").read_text(encoding="utf-8").splitlines()
    sentences = sorted({line.split("\t")[1] for line in lines if len(line.split("\t")[1]) <= LONGEST})
    random.Random(1).shuffle(sentences)
    del sentences[options.limit :]
    pairs = []
    for rank, language in enumerate(LANGUAGES):
        texts = sentences[rank :: len(LANGUAGES)]
        translator = MarianTranslator(options.model, prefix=f">>{language}<<")
        for start in range(0, len(texts), AT_ONCE):
            window = texts[start : start + AT_ONCE]
            made = zip(translator.translate(window), window, strict=True)
            pairs += [f"{there.text}\t{text}\n" for there, text in made if there.text and not there.reason]
            print(f"{language}: {start + len(window):,} of {len(texts):,}", flush=True)
    (options.text / "back.tsv").write_text("".join(pairs), encoding="utf-8")
    print(f"{len(pairs):,} of {len(sentences):,} sentences")


if __name__ == "__main__":
    main()
