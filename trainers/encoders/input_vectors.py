"""Input vectors of another vocabulary, in closed form, from translations and from how its pieces are spelt.

Of n texts that the encoder reads, and their translations, let Y (n, W) count the old pieces of each text and X
(n, V) the new pieces of its translation, special tokens left out; E (W, d) are the old input vectors, m (d)
the mean of those that occur, and w_i = 1 / (1 + old pieces of text i). A translation's new vectors are to add
up to what the old ones of its text do: they are Z + m, where Z (V, d) minimises

    sum over i of w_i |x_i Z - y_i (E - m)|^2 + RIDGE (|U|^2 + |G|^2),   Z = SPELT M (E - m) + U + F G.

So a piece that few translations have is held at what its spelling says: M (V, W), whose rows add up to 1 or 0,
are the old pieces that it is spelt like, and F (V, h) are the strings of some characters that it shares with
other new pieces, rows of length SHARED, whose vectors G (h, d) are solved for too: what `spielt` means says
something of `spielte`. More columns of F say in which company pieces are in plain text, where there is any. Special
tokens keep their vectors. No step of training is needed for this.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from anyascii import anyascii
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack
from torch import nn

from trainers.data.examples import token_ids
from trainers.encoders.modules import Encoder
from trainers.encoders.vocabulary import learn_tokenizer, piece_counts

# Tried on 2026-11-28 on every second pair of STS-B dev, before any training, own language / against English:
# 10,000 German pairs have 78.5 / 65.0, 77.5 / 64.1 with SHARED 1, 76.1 / 59.5 without F; 2,000 have 75.6 / 51.3
# and 75.6 / 49.7; 9,634 Russian ones 75.5 / 62.5 and 75.7 / 62.7, without F and M 64.2 / 51.2. More iterations and
# a weight of M by how sure it is (same, cut or near) moved little; strings of 2 to 4 characters were worse by a
# point. With a corpus of 259,632 German sentences 2,000 pairs have 76.7 / 58.4 by its pieces alone, 77.5 / 61.3 by
# their company too; 10,000 78.5 / 64.9 and 78.6 / 65.1, whatever USED and RARE are.
RIDGE = 0.3  # of the squared length of the vectors; measured on German: 1 holds them too close to the mean
SPELT = 0.7  # of what a piece's spelling says; on German between 0.5 and 1 it moves figures by tenths
SHARED = 2  # the length of F's rows: how much of a piece its strings say, and not the piece alone
ITERATIONS = 40  # of conjugate gradients
COLUMNS = 64  # of the vectors that are solved for at once, for little memory
BEGINNINGS = ("▁", "Ġ")  # of pieces that begin a word; WordPiece marks the others
WITHIN = "##"
LENGTHS = (3, 5)  # characters of the strings that pieces share, a space before a word included
WINDOW, SMOOTHING = 4, 0.75  # pieces between which company is counted, and the power of how frequent they are
COMPANY = 100  # numbers that say in which company a piece is
USED, RARE = 2, 5  # the length of these vectors, and how often a piece occurs whose is shorter by 0.7
SHORT = 4  # characters of a word, and of the space before it, that is too short to be like another
BLOCK = 1000  # words whose cosines with all old ones are in memory at once
LEAST_COSINE, SHARPNESS = 0.35, 4  # of two words' strings, and its power by which they are weighted

Vectors = NDArray[np.float32]


def replace_vocabulary(
    encoder: Encoder, texts: Sequence[str], translations: Sequence[str], size: int, corpus: Sequence[str] = ()
) -> None:
    """Give an encoder, in place, at most `size` pieces, learnt from the translations (n) of `texts` (n).

    A `corpus` is more text in the language of the translations, from which it learns pieces too, and which ones
    are used alike. Special tokens and their vectors stay.
    """
    old = encoder.tokenizer
    language = [*translations, *corpus]
    new = learn_tokenizer(old, language, size)
    model: Any = encoder[0].model
    layer = model.get_input_embeddings()
    vectors = layer.weight.detach().cpu().numpy()
    counts = piece_counts(new, translations), piece_counts(old, texts)
    alike, shared = spelt_alike(new, old)
    if corpus:
        shared = hstack([shared, used_alike(new, language)]).tocsr()
    moved = transferred(*counts, vectors, alike, shared)
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


def spellings(tokenizer: Any, script: Callable[[str], str]) -> list[str]:  # noqa: ANN401 - transformers' tokenizers
    """Return each piece in small letters of a `script`, behind a space if it begins a word.

    Special tokens are empty. By `anyascii` музыка is muzyka, and near to music; by `str` it stays as it is.
    """
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    special = {*tokenizer.all_special_tokens}
    is_wordpiece = any(piece.startswith(WITHIN) for piece in pieces)

    def spelling(piece: str) -> str:
        if piece in special:
            return ""
        begins = not piece.startswith(WITHIN) if is_wordpiece else piece.startswith(BEGINNINGS)
        text = tokenizer.convert_tokens_to_string([piece]).removeprefix(WITHIN)
        return " " * begins + script(text).strip().lower()

    return [spelling(piece) for piece in pieces]


def spelt_alike(new: Any, old: Any) -> tuple[csr_array, csr_array]:  # noqa: ANN401 - transformers' tokenizers
    """Return M (V, W), the old pieces that each new one is spelt like, and F (V, h), the strings in it.

    In M a piece has the old one of the same spelling, or else those that the old tokenizer cuts the spelling
    into and, by half, if it is a word, the old words that share strings with it.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    spelt, old_spelt = spellings(new, anyascii), spellings(old, anyascii)
    # A piece that is written so goes before one of another script that only sounds so: `no` before の.
    written = spellings(old, str)
    numbers = {text: number for texts in (old_spelt, written) for number, text in enumerate(texts) if text}
    rows = [row for row, spelling in enumerate(spelt) if spelling in numbers]
    columns = [numbers[spelt[row]] for row in rows]
    same = csr_array((np.ones(len(rows), np.float32), (rows, columns)), (len(spelt), len(old_spelt)))
    is_other = 1 - same.sum(axis=1)
    is_word = np.array([spelling.startswith(" ") for spelling in spelt])
    is_old_word = [float(text.startswith(" ") and len(text) > SHORT) for text in written]

    strings = TfidfVectorizer(analyzer="char", ngram_range=LENGTHS, min_df=2, dtype=np.float32)
    strings.fit([*spelt, *old_spelt])
    shared = strings.transform(spelt)
    old_words = diags_array(is_old_word) @ strings.transform(old_spelt)
    cosines = _cosines(csr_array(diags_array(is_other * is_word) @ shared), old_words.T.tocsr())
    cut = diags_array(is_other) @ piece_counts(old, spelt)
    return _shares(same + _shares(cut) + _shares(cosines.power(SHARPNESS))), csr_array(SHARED * shared)


def used_alike(tokenizer: Any, texts: Sequence[str]) -> csr_array:  # noqa: ANN401 - transformers' tokenizers
    """Return more columns of F: vectors (V, COMPANY) of pieces by those that are near them in some texts.

    They are factors of the pieces' positive pointwise mutual information, with a context distribution smoothed
    by SMOOTHING, where two pieces at a distance of up to WINDOW count by its inverse (Levy, Goldberg and Dagan
    2015, https://aclanthology.org/Q15-1016/), less their mean, of length USED, and shorter where rare.
    """
    from sklearn.decomposition import TruncatedSVD

    ids = token_ids(tokenizer, texts, add_special_tokens=False)
    row = np.repeat(np.arange(len(ids)), ids.lengths)
    shape = len(tokenizer), len(tokenizer)
    near = csr_array(shape, dtype=np.float32)
    for distance in range(1, WINDOW + 1):
        is_one_text = row[distance:] == row[:-distance]
        pairs = ids.values[:-distance][is_one_text], ids.values[distance:][is_one_text]
        near += csr_array((np.full(len(pairs[0]), 1 / distance, np.float32), pairs), shape)
    near = (near + near.T).tocoo()
    counts = near.sum(axis=0)
    contexts = counts**SMOOTHING / (counts**SMOOTHING).sum()
    pieces, others = near.coords
    information = np.log(near.data / (counts[pieces] * contexts[others]))
    positive = csr_array((np.maximum(information, 0), near.coords), shape)
    svd = TruncatedSVD(min(COMPANY, len(tokenizer) - 1), random_state=0)
    company = svd.fit_transform(positive) / np.sqrt(svd.singular_values_)
    company -= np.average(company, axis=0, weights=counts)
    lengths = np.linalg.norm(company, axis=1)
    wanted = USED * np.sqrt(counts / (counts + RARE))
    company *= np.divide(wanted, lengths, out=np.zeros_like(lengths), where=lengths > 0)[:, None]
    return csr_array(company.astype(np.float32))


def _cosines(rows: csr_array, columns: csr_array) -> csr_array:
    """Return the products (n, W) of unit rows (n, h) and columns (h, W) that are at least LEAST_COSINE."""
    blocks = []
    for start in range(0, rows.shape[0], BLOCK):
        cosines = rows[start : start + BLOCK] @ columns
        cosines.data[cosines.data < LEAST_COSINE] = 0
        cosines.eliminate_zeros()
        blocks.append(cosines)
    return vstack(blocks)


def _shares(rows: csr_array) -> csr_array:
    """Return rows that add up to 1, or to 0 where they did."""
    sums = rows.sum(axis=1)
    return csr_array(diags_array(np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)) @ rows)


def transferred(
    new: csr_array, old: csr_array, vectors: Vectors, alike: csr_array, shared: csr_array
) -> Vectors:
    """Input vectors (V, d) of pieces `new` (n, V), from those (W, d) of `old` (n, W), by the equation above.

    `alike` is M, `shared` F. The normal equations, for the rows of U and G, are solved by conjugate gradients,
    preconditioned by about their diagonal (Hestenes and Stiefel 1952). Their matrix is dense and never formed:
    memory and time are linear in the pairs.
    """
    scale = diags_array(np.sqrt(1 / (1 + old.sum(axis=1))).astype(np.float32))
    pieces, targets = (scale @ new).tocsr(), (scale @ old).tocsr()
    transposed = pieces.T.tocsr()
    parts = hstack([eye_array(new.shape[1], dtype=np.float32), shared]).tocsr()
    parts_transposed = parts.T.tocsr()
    diagonal = RIDGE + parts_transposed.power(2) @ pieces.power(2).sum(axis=0)

    def normal(solution: Vectors) -> Vectors:
        image: Vectors = parts_transposed @ (transposed @ (pieces @ (parts @ solution)))
        return image + RIDGE * solution

    mean = vectors[old.sum(axis=0) > 0].mean(axis=0)
    moved = SPELT * (alike @ (vectors - mean))
    for start in range(0, vectors.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        missing = targets @ (vectors - mean)[:, columns] - pieces @ moved[:, columns]
        right = parts_transposed @ (transposed @ missing)
        moved[:, columns] += parts @ _solve(normal, diagonal[:, None].astype(np.float32), right)
    return np.asarray(moved + mean, np.float32)


def _solve(normal: Callable[[Vectors], Vectors], diagonal: Vectors, right: Vectors) -> Vectors:
    solution = np.zeros_like(right)
    residual = right.copy()
    direction = residual / diagonal
    product = np.einsum("vd,vd->d", residual, direction)
    for _ in range(ITERATIONS):
        image = normal(direction)
        curvature = np.einsum("vd,vd->d", direction, image)
        # A column that is solved exactly stays as it is.
        step = np.divide(product, curvature, out=np.zeros_like(product), where=curvature > 0)
        solution += step * direction
        residual -= step * image
        scaled = residual / diagonal
        last, product = product, np.einsum("vd,vd->d", residual, scaled)
        direction = scaled + np.divide(product, last, out=np.zeros_like(product), where=last > 0) * direction
    return solution
