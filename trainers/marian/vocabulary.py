"""A joint SentencePiece vocabulary in Marian's own layout: end 0, unknown 1, padding last."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from sentencepiece import SentencePieceTrainer
from transformers import MarianTokenizer

from pipelines.console import InputError

PADDING = "<pad>"
CODE = re.compile(r">>[^<>\s]+<< ?")
"""A target language code at the start of a source."""


def build_tokenizer(texts: Iterable[str], folder: Path, *, size: int, codes: Sequence[str] = ()) -> MarianTokenizer:
    """Train a unigram vocabulary on `texts` and write it to `folder` as a MarianTokenizer.

    Args:
        texts: Sentences of both sides, one a string.
        folder: Where source.spm, target.spm, vocab.json and the tokenizer's settings go; made if missing.
        size: Number of ids in all, special tokens and language codes included.
        codes: Target language codes that may stand before a source sentence, such as ">>de<<".

    Returns:
        The tokenizer, with `size` ids: CTranslate2 refuses a Marian model whose padding is not the last of them.

    Raises:
        InputError: The text is too little for so large a vocabulary.
        ValueError: The vocabulary written and the vocabulary read back differ.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_prefix=str(folder / "source"),
            vocab_size=size - len(codes) - 1,
            character_coverage=0.9998,
            bos_id=-1,
            eos_id=0,
            unk_id=1,
            num_threads=1,
            input_sentence_size=500_000,
            shuffle_input_sentence=True,
            minloglevel=2,
        )
    except RuntimeError as error:
        most = re.search(r"<= (\d+)", str(error))
        raise InputError(
            f"no vocabulary of {size} ids can be built from this text"
            + (f" (at most {int(most[1]) + len(codes) + 1})" if most else f" ({str(error).rpartition('] ')[2]})")
            + ": give more text or a smaller --vocabulary"
        ) from error
    source, target, vocabulary = (folder / name for name in ("source.spm", "target.spm", "vocab.json"))
    (folder / "source.model").rename(source)
    shutil.copyfile(source, target)
    pieces = [line.partition("\t")[0] for line in (folder / "source.vocab").read_text(encoding="utf-8").splitlines()]
    (folder / "source.vocab").unlink()
    ids = {piece: number for number, piece in enumerate([*pieces, *codes, PADDING])}
    vocabulary.write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    tokenizer = MarianTokenizer(str(source), str(target), str(vocabulary), model_max_length=512)
    if len(tokenizer) != size or (tokenizer.eos_token_id, tokenizer.unk_token_id) != (0, 1):
        raise ValueError(f"vocabulary of {len(tokenizer)} ids instead of {size}, or not in Marian's layout")
    tokenizer.save_pretrained(folder)
    return tokenizer


def make_tokenizer(
    pairs: Sequence[tuple[str, str]],
    folder: Path,
    *,
    start: str | None,
    made: Path | None,
    given: str | None,
    size: int,
) -> MarianTokenizer:
    """Return the tokenizer of the model to start from, the one that a run already has, a given one, or a new one.

    Args:
        pairs: Sentence pairs, for a new one.
        folder: Where a given or a new one is written.
        start: A MarianMT directory or Hub name, whose own is taken.
        made: Where a run that is resumed has its own, if it got that far.
        given: A folder with a tokenizer to share.
        size: Ids of a new one.

    Raises:
        InputError: There is none at one of these places, or none can be built from so little text.
    """
    if start:
        return _load(start)
    if made is not None and made.is_dir():
        return _load(str(made))
    if given:
        if not Path(given).is_dir():
            raise InputError(f"no tokenizer at {given!r}: give --tokenizer a folder that has one")
        shutil.copytree(given, folder, dirs_exist_ok=True)
    else:
        texts = (CODE.sub("", side) for pair in pairs for side in pair)
        build_tokenizer(texts, folder, size=size, codes=language_codes(pairs))
    return _load(str(folder))


def language_codes(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the target language codes that sources begin with, such as [">>de<<", ">>fr<<"], sorted."""
    found = (CODE.match(source) for source, _ in pairs)
    return sorted({match.group(0).strip() for match in found if match})


def _load(start: str) -> MarianTokenizer:
    try:
        return MarianTokenizer.from_pretrained(start)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{start!r} holds no MarianMT model: give a directory of one, or a name on the Hub") from error
