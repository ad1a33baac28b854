"""Another vocabulary for an encoder: its pieces are learnt from text."""

import copy
import io
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from tokenizers import Tokenizer

from augment.models.device import quiet_transformers
from trainers.data.examples import BLOCK, token_ids

UNSPACED = 20  # characters to a space, where a script has none; in others there are 5 to 12
ALPHABET = 1000  # characters of a vocabulary, the most frequent ones
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def share_unread(tokenizer: Any, texts: Sequence[str]) -> float:  # noqa: ANN401 - transformers' tokenizers
    """Return the share of the words of some texts that a tokenizer does not know or cuts up, in [0, 1].

    all-MiniLM-L6-v2's cuts 1% to 12% of the words of English, 30% of medical English, 33% to 54% of those of
    French, Spanish and German, and 70% to 100% in other scripts.
    """
    words = unread = 0
    for row in tokenizer(list(texts), add_special_tokens=False, truncation=True).encodings:
        pieces = Counter(row.word_ids)
        unknown = {
            word for word, piece in zip(row.word_ids, row.ids, strict=True) if piece == tokenizer.unk_token_id
        }
        words += len(pieces)
        unread += sum(count > 1 or word in unknown for word, count in pieces.items())
    return unread / max(words, 1)


def learn_tokenizer(tokenizer: Any, texts: Sequence[str], size: int) -> Any:  # noqa: ANN401 - transformers' tokenizers
    """Return a tokenizer of at most `size` pieces of `texts`, with the kind, normaliser and special tokens of another.

    Accents are kept, as they tell words apart in most languages. Where the script has no spaces, it is a
    Unigram model over whole sentences (arXiv:1804.10959). Equal texts give equal pieces.
    """
    from transformers import PreTrainedTokenizerFast

    draft = _untrained(tokenizer, texts)
    kind = type(draft.backend_tokenizer.model).__name__
    blocks = [list(texts[start : start + BLOCK]) for start in range(0, len(texts), BLOCK)]
    options: dict[str, Any] = {}
    pieces: list[str] = []
    if kind == "WordPiece":
        options["initial_alphabet"], pieces = _characters(draft.backend_tokenizer, blocks)
        options["limit_alphabet"] = len(options["initial_alphabet"])
    # The trainer numbers the characters within words as its hash map has them, and breaks ties by number;
    # special tokens come first, in their order.
    learnt = draft.train_new_from_iterator(
        [blocks[0][:100]] if kind == "Unigram" else blocks,
        size,
        new_special_tokens=pieces,
        show_progress=False,
        **options,
    )
    state = json.loads(learnt.backend_tokenizer.to_str())
    state |= {"truncation": None, "padding": None}  # of the calls so far
    state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] not in pieces]
    if kind == "Unigram":
        special = [entry for entry in state["model"]["vocab"] if entry[0] in tokenizer.all_special_tokens]
        count = size - len(special)
        state["model"]["vocab"] = special + _unigram_pieces(draft.backend_tokenizer.normalizer, texts, count)
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(state)),
        model_max_length=tokenizer.model_max_length,
        model_input_names=tokenizer.model_input_names,
        **tokenizer.special_tokens_map,
    )


def _untrained(tokenizer: Any, texts: Sequence[str]) -> Any:  # noqa: ANN401
    """A copy of a tokenizer that keeps accents, of another kind if the script of the texts has no spaces."""
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    normalizer = state["normalizer"] or {}
    if "strip_accents" in normalizer:
        normalizer["strip_accents"] = False
    spaces = sum(text.count(" ") for text in texts)
    if sum(map(len, texts)) > UNSPACED * spaces and state["model"]["type"] == "WordPiece":
        normalizer["handle_chinese_chars"] = False  # which puts spaces around each
        state |= {"pre_tokenizer": METASPACE, "decoder": METASPACE}
        state["model"] = {"type": "Unigram", "unk_id": 0, "vocab": [[tokenizer.unk_token, 0.0]]}
    draft = copy.deepcopy(tokenizer)
    draft._tokenizer = Tokenizer.from_str(json.dumps(state))
    return draft


def _unigram_pieces(normalizer: Any, texts: Sequence[str], size: int) -> list[list[Any]]:  # noqa: ANN401
    """Return at most `size` pieces and their log-probabilities.

    By SentencePiece, as the other trainer's sums vary.
    """
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=(normalizer.normalize_str(text) if normalizer else text for text in texts),
        model_writer=model,
        vocab_size=size + 1,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        normalization_rule_name="identity",
        unk_id=0,
        bos_id=-1,
        eos_id=-1,
    )
    processor = SentencePieceProcessor(model_proto=model.getvalue())
    numbers = range(1, len(processor))
    return [[processor.id_to_piece(number), processor.get_score(number)] for number in numbers]


def _characters(tokenizer: Any, blocks: Sequence[list[str]]) -> tuple[list[str], list[str]]:  # noqa: ANN401
    """Return the most frequent characters, and the pieces of one character within a word, as WordPiece writes them."""
    counts: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for block in blocks:
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(
            tokenizer.normalizer.normalize_str("\n".join(block))
        ):
            counts.update(word)
            within.update(word[1:])
    alphabet = [character for character, _ in counts.most_common(ALPHABET)]
    prefix = tokenizer.model.continuing_subword_prefix
    return alphabet, [prefix + character for character in alphabet if within[character]]


def piece_counts(tokenizer: Any, texts: Sequence[str]) -> csr_array:  # noqa: ANN401
    """Return how often each piece is in each text (texts, pieces), special tokens left out, as float32."""
    with quiet_transformers():
        rows = token_ids(tokenizer, texts, add_special_tokens=False)
    ordinary = np.isin(rows.values, tokenizer.all_special_ids, invert=True).astype(np.float32)
    counts = csr_array((ordinary, rows.values, rows.starts), (len(texts), len(tokenizer)))
    counts.sum_duplicates()
    return counts
