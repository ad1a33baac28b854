"""Another vocabulary for an encoder: its pieces are learnt from text, their input vectors follow from translations.

Of n texts that the encoder reads, and their translations, let Y (n, W) count the old pieces of each text and X
(n, V) the new pieces of its translation, special tokens left out; E (W, d) are the old input vectors, m (d)
the mean of those that occur, and w_i = 1 / (1 + old pieces of text i). A translation's new vectors
are to add up to what the old ones of its text do: they are Z + m, where Z (V, d) minimises

    sum over i of w_i |x_i Z - y_i (E - m)|^2 + RIDGE |Z|^2.

Special tokens keep their vectors, and a piece that is in no translation has m. No step of training is needed
for this.
"""

import copy
import io
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from tokenizers import Tokenizer
from torch import nn

from augment.models.device import quiet_transformers
from trainers.data.examples import BLOCK, token_ids
from trainers.encoders.modules import Encoder

RIDGE = 0.3  # of the squared length of the vectors; measured on German: 1 holds them too close to the mean
ITERATIONS = 25  # of conjugate gradients
COLUMNS = 64  # of the vectors that are solved for at once, for little memory
UNSPACED = 20  # characters to a space, where a script has none; in others there are 5 to 12
ALPHABET = 1000  # characters of a vocabulary, the most frequent ones
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}

Vectors = NDArray[np.float32]


def replace_vocabulary(encoder: Encoder, texts: Sequence[str], translations: Sequence[str], size: int) -> None:
    """Give an encoder, in place, at most `size` pieces, learnt from the translations (n) of `texts` (n).

    Its special tokens and their vectors stay.
    """
    old = encoder.tokenizer
    new = learn_tokenizer(old, translations, size)
    model: Any = encoder[0].model
    layer = model.get_input_embeddings()
    vectors = layer.weight.detach().cpu().numpy()
    moved = transferred(piece_counts(new, translations), piece_counts(old, texts), vectors)
    for name, token in new.special_tokens_map.items():
        moved[new.convert_tokens_to_ids(token)] = vectors[old.convert_tokens_to_ids(token)]
        if getattr(model.config, f"{name}_id", None) is not None:
            setattr(model.config, f"{name}_id", new.convert_tokens_to_ids(token))
    padding = None if layer.padding_idx is None else new.pad_token_id
    size, width = moved.shape
    model.set_input_embeddings(nn.Embedding(size, width, padding, _weight=torch.from_numpy(moved)))
    model.config.vocab_size = size
    max_tokens = encoder.max_seq_length
    encoder[0].processor = new
    encoder.max_seq_length = max_tokens


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


def transferred(new: csr_array, old: csr_array, vectors: Vectors) -> Vectors:
    """Input vectors (V, d) of pieces `new` (n, V), from those (W, d) of `old` (n, W), by the equation above.

    The normal equations (X'WX + RIDGE I) Z = X'WY (E - m) are solved by conjugate gradients, preconditioned by
    their diagonal (Hestenes and Stiefel 1952). X'WX is dense and never formed: memory and time are linear in
    the pairs.
    """
    weights = np.sqrt(1 / (1 + old.sum(axis=1)))
    scale = diags_array(weights.astype(np.float32))
    pieces, targets = (scale @ new).tocsr(), (scale @ old).tocsr()
    transposed = pieces.T.tocsr()
    mean = vectors[old.sum(axis=0) > 0].mean(axis=0)
    diagonal = (RIDGE + pieces.multiply(pieces).sum(axis=0))[:, None].astype(np.float32)
    moved = np.empty((new.shape[1], vectors.shape[1]), np.float32)
    for start in range(0, vectors.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        right = transposed @ (targets @ (vectors - mean)[:, columns])
        moved[:, columns] = _solve(pieces, transposed, diagonal, right)
    return np.asarray(moved + mean, np.float32)


def _solve(pieces: csr_array, transposed: csr_array, diagonal: Vectors, right: Vectors) -> Vectors:
    solution = np.zeros_like(right)
    residual = right.copy()
    direction = residual / diagonal
    product = np.einsum("vd,vd->d", residual, direction)
    for _ in range(ITERATIONS):
        image = transposed @ (pieces @ direction) + RIDGE * direction
        curvature = np.einsum("vd,vd->d", direction, image)
        # A column that is solved exactly stays as it is.
        step = np.divide(product, curvature, out=np.zeros_like(product), where=curvature > 0)
        solution += step * direction
        residual -= step * image
        scaled = residual / diagonal
        last, product = product, np.einsum("vd,vd->d", residual, scaled)
        direction = scaled + np.divide(product, last, out=np.zeros_like(product), where=last > 0) * direction
    return solution
