"""One peer's work as a process of its own: a text file in, a text file out; prints the seconds without loading.

python benchmarks/peers.py PEER TEXTS OUT [--models DIR] [--num-beams N] [--max-length N] [--warm]

`speed.py` runs these beside our commands. DIR holds the models of both directions, `en-xx` and `xx-en`, or is one
model.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from augment.view import ViewSpec, make_view, row_seed
from pipelines.__main__ import GC_THRESHOLD


@dataclass(frozen=True)
class Settings:
    """What a peer works with.

    Attributes:
        models: A folder of MarianMT models, or of one.
        num_beams: Beams of a beam search; 1 is greedy.
        max_length: Most tokens that are written for a sentence; 256 by default, as in CTranslate2.
    """

    models: Path
    num_beams: int
    max_length: int


Work = Callable[[list[str]], Sequence[str | None]]


def hops_of(models: Path) -> list[tuple[str, str | None]]:
    """The folders to translate through, each with the code before its sources: there and back, or one way."""
    if (models / "en-xx").is_dir():
        return [("en-xx", ">>de<<"), ("xx-en", None)]
    return [("", None)]


def translate_batch(settings: Settings) -> Work:
    """CTranslate2's `translate_batch`: int8, a translator a core, in the batches that are fastest on a CPU."""
    import ctranslate2

    from augment.models.device import COMPUTE_TYPES
    from augment.models.weights import local_weights
    from augment.translate.ctranslate import converted
    from augment.translate.decoding import Vocabulary

    def load(folder: Path) -> tuple[ctranslate2.Translator, Vocabulary]:
        vocabulary = Vocabulary(folder)
        translator = ctranslate2.Translator(
            str(converted(folder, vocabulary, local_weights(folder, "--models").revision)),
            compute_type=COMPUTE_TYPES["int8"],
            inter_threads=len(os.sched_getaffinity(0)),
            intra_threads=1,
        )
        return translator, vocabulary

    hops = [(*load(settings.models / folder), code) for folder, code in hops_of(settings.models)]

    def work(texts: list[str]) -> Sequence[str]:
        for translator, vocabulary, code in hops:
            tokens = [[vocabulary.source[token] for token in ids] for ids in vocabulary.encode(texts, code)]
            found = translator.translate_batch(
                tokens,
                beam_size=settings.num_beams,
                max_batch_size=1_024 if settings.num_beams == 1 else 512,
                batch_type="tokens",
                max_decoding_length=settings.max_length,
            )
            numbers = {token: number for number, token in enumerate(vocabulary.target)}
            texts = vocabulary.decode([numbers[token] for token in result.hypotheses[0]] for result in found)
        return texts

    return work


def generate(settings: Settings) -> Work:
    """`generate` of transformers there and back: float32, 32 sentences a batch, in the order of the file."""
    from transformers import MarianMTModel, MarianTokenizer

    hops = [
        (
            MarianTokenizer.from_pretrained(settings.models / folder),
            MarianMTModel.from_pretrained(settings.models / folder, dtype="float32"),
            f"{code} " if code else "",
        )
        for folder, code in hops_of(settings.models)
    ]

    def work(texts: list[str]) -> Sequence[str]:
        for tokenizer, model, code in hops:
            written: list[str] = []
            for start in range(0, len(texts), 32):
                batch = tokenizer(
                    [code + text for text in texts[start : start + 32]],
                    return_tensors="pt",
                    padding=True,
                    truncation=True,
                    max_length=settings.max_length,
                )
                ids = model.generate(**batch, num_beams=settings.num_beams, max_length=settings.max_length)
                written += tokenizer.batch_decode(ids, skip_special_tokens=True)
            texts = written
        return texts

    return work


def nlpaug_synonym(_settings: Settings) -> Work:
    """SynonymAug of nlpaug over WordNet, 30% of the words, with NLTK's own tagger and its weights, which we bundle."""
    import nlpaug.augmenter.word as naw
    import nltk.data
    from nltk.tag.perceptron import PerceptronTagger

    from augment.lexicon import wordnet
    from augment.text.english import load_data

    nltk.data.path.insert(0, str(wordnet.find().parent.parent))
    tagger = PerceptronTagger(load=False)
    tagger.model.weights, tagger.tagdict = load_data("weights"), load_data("tagdict")
    tagger.classes = tagger.model.classes = set(load_data("classes"))
    nltk.pos_tag = tagger.tag
    augmenter = naw.SynonymAug(aug_src="wordnet", aug_p=0.3)
    return lambda texts: _each(augmenter, texts)


def nlpaug_contextual(settings: Settings) -> Work:
    """ContextualWordEmbsAug of nlpaug with the bundled encoder, 20% of the words."""
    import nlpaug.augmenter.word as naw
    from transformers import BertTokenizer

    # It knows fast tokenizers by their names before transformers 5.
    BertTokenizer._convert_token_to_id = BertTokenizer.convert_tokens_to_ids
    BertTokenizer._convert_id_to_token = BertTokenizer.convert_ids_to_tokens
    augmenter = naw.ContextualWordEmbsAug(
        model_path=str(settings.models.parent / "encoder"),
        model_type="bert",
        action="substitute",
        aug_p=0.2,
        device="cpu",
        batch_size=32,
    )
    return lambda texts: augmenter.augment(texts)


def _each(augmenter: Any, texts: Sequence[str]) -> list[str | None]:  # noqa: ANN401 - an nlpaug augmenter
    return [next(iter(augmenter.augment(text)), None) for text in texts]


def our_view(name: str) -> Callable[[Settings], Work]:
    """One of our views in this process, to compare with a peer that is loaded."""

    def load(settings: Settings) -> Work:
        view = make_view(ViewSpec(name), device="cpu")
        key = view.spec.seed_key()
        return lambda texts: [one.text for one in view(texts, [row_seed(0, text, key) for text in texts])]

    return load


PEERS: dict[str, Callable[[Settings], Work]] = {
    "translate_batch": translate_batch,
    "generate": generate,
    "nlpaug-synonym": nlpaug_synonym,
    "nlpaug-contextual": nlpaug_contextual,
    "our-synonym": our_view("synonym"),
    "our-mlm-fill": our_view("mlm-fill"),
}


def main() -> None:
    """Do one peer's work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("texts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", type=Path, default=Path())
    parser.add_argument("--num-beams", type=int, default=1)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--warm", action="store_true", help="do the work twice, and time the second time")
    arguments = parser.parse_args()
    gc.set_threshold(GC_THRESHOLD)  # as our command does
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the generator that nlpaug draws from
    work = PEERS[arguments.peer](Settings(arguments.models, arguments.num_beams, arguments.max_length))
    texts = arguments.texts.read_text("utf-8").splitlines()
    work(texts if arguments.warm else texts[:2])
    started = time.perf_counter()
    views = work(texts)
    seconds = time.perf_counter() - started
    arguments.out.write_text("".join(f"{view or ''}\n" for view in views), "utf-8")
    sys.stdout.write(f"{seconds}\n")


if __name__ == "__main__":
    main()
