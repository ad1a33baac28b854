"""Bilingual lexicon induction on xling-eval: Procrustes map, CSLS and cosine retrieval, mapped and unmapped.

Glavas et al. 2019; Mirror-BERT's Table 6; mapped vectors as in VecMap, unit, centred and unit, orthogonally
mapped.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg import orthogonal_procrustes

from trainers.encoders.vectors import Floats, Matrix, Numbers, Vectors, score_blocks, unit
from trainers.files import bad_line, check_count, filled_lines, find_files, tsv_rows
from trainers.scores.task import MARK, Metrics, Missing, Predictions, Result, Task

METRICS = ("acc@1", "MRR", "cosine acc@1", "unmapped acc@1")
# the part that each metric is of
PRINTED = (
    "mapped, CSLS",
    "mapped, CSLS",
    "mapped, cosine",
    "unmapped, CSLS",
)
# the pairs of Mirror-BERT's Table 6, in its order
REPORTED = (
    "en-fr",
    "en-it",
    "en-ru",
    "en-tr",
    "it-fr",
    "ru-fr",
)
COUNTED = len(REPORTED)

FOLDERS = ("xling-eval", "xling-eval/bli_datasets", "bli_datasets")
WHERE = "https://github.com/codogogo/xling-eval (bli_datasets)"
DICTIONARIES = (
    "candidates are the words of the dictionaries alone (how many: see the parts), papers retrieve among a large "
    "vocabulary, usually 200,000 words: an easier task, not to be compared with their rows"
)
SIZES = {"train.freq.5k": 5000, "test.freq.2k": 2000}

NEIGHBOURS = 10
TIED = 1e-6  # the most that equal cosines differ by, from rounding


class Lexicon(NamedTuple):
    """The words of two languages, the dictionaries' first.

    `train` and `test` pair rows that are translations.
    """

    source: Sequence[str]
    target: Sequence[str]
    train: Sequence[tuple[int, int]]
    test: Mapping[int, tuple[int, ...]]


def score_lexicon(lexicon: Lexicon, vectors: Vectors, seed: int = 0) -> Result:
    """Accuracy @1 and mean reciprocal rank (MAP, with one translation a word) of a word's best translation."""
    source, target = vectors.of(lexicon.source), vectors.of(lexicon.target)
    left, right = centred(source), centred(target)
    rows, columns = np.array(lexicon.train).T
    rotation, _ = orthogonal_procrustes(left[rows].astype(np.float64), right[columns].astype(np.float64))
    mapped = left @ rotation.astype(np.float32)
    parts: dict[str, Metrics] = {}
    outcomes: list[Floats] = []
    for kind, (words, candidates) in {"mapped": (mapped, right), "unmapped": (source, target)}.items():
        penalties = neighbourhood(candidates, words, vectors.device)
        queries, translations = words[list(lexicon.test)], list(lexicon.test.values())
        by_csls, by_cosine = ranks(queries, candidates, translations, penalties, vectors.device)
        for how, rank in (("CSLS", by_csls), ("cosine", by_cosine)):
            outcomes.append((rank == 1).astype(np.float64))
            accuracy, reciprocal = float(100 * outcomes[-1].mean()), float(100 * (1 / rank).mean())
            parts[f"{kind}, {how}"] = {"acc@1": accuracy, "MRR": reciprocal, "candidates": len(candidates)}
    metrics = {name: parts[part][name.rpartition(" ")[2]] for name, part in zip(METRICS, PRINTED, strict=True)}
    return Result(metrics, Predictions("mean", np.ones(len(outcomes[0])), outcomes[0]), parts)


def centred(vectors: Matrix) -> Matrix:
    """Return unit vectors, less their mean, made unit again: VecMap's preprocessing (Artetxe et al. 2018)."""
    directions = unit(vectors)
    return unit(directions - directions.mean(axis=0, dtype=np.float64).astype(np.float32))


def neighbourhood(vectors: Matrix, others: Matrix, device: str | None = None) -> Matrix:
    """Return each vector's mean cosine with its 10 nearest of `others`, shape (n,): r of CSLS (Lample et al. 2018)."""
    k = min(NEIGHBOURS, len(others))
    blocks = score_blocks(unit(vectors), unit(others), device)
    return (
        torch.cat([torch.topk(block, k, dim=1).values.mean(dim=1).cpu() for _, block in blocks])
        .float()
        .numpy()
    )


def ranks(
    queries: Matrix,
    candidates: Matrix,
    translations: Sequence[Sequence[int]],
    penalties: Matrix,
    device: str | None = None,
) -> tuple[Numbers, Numbers]:
    """Return the ranks, from 1, of each query's best translation among the candidates, by CSLS and by cosine.

    CSLS is 2 cos(q, c) - r(q) - r(c) (Lample et al. 2018, Eq. 4), r(c) in `penalties` (m,); r(q) changes no
    rank.
    """
    by_csls, by_cosine = np.zeros((2, len(queries)), np.int64)
    for start, block in score_blocks(unit(queries), unit(candidates), device):
        for row, cosines in enumerate(block.cpu().numpy(), start):
            # Half of CSLS ranks the same.
            by_csls[row] = _best_rank(cosines - penalties / np.float32(2), translations[row])
            by_cosine[row] = _best_rank(cosines, translations[row])
    return by_csls, by_cosine


def _best_rank(scores: Matrix, right: Sequence[int]) -> int:
    """The rank of the best of the columns `right`; of columns that tie, up to rounding, the first wins."""
    best = scores[list(right)].max()
    first = min(column for column in right if scores[column] >= best - TIED)
    ahead = np.count_nonzero(scores > best + TIED) + np.count_nonzero(abs(scores[:first] - best) <= TIED)
    return 1 + int(ahead)


def find(data: str) -> list[Task | Missing]:
    """Read the pairs of `REPORTED` in a folder; raises InputError for a malformed file."""
    return [_read(pair, data) for pair in REPORTED]


def _read(pair: str, data: str) -> Task | Missing:
    names = [f"{pair}/yacle.{part}.{pair}.tsv" for part in SIZES]
    paths = find_files(names, FOLDERS, data)
    if isinstance(paths, str):
        return Missing(f"bli-{pair}", f"BLI {pair}", f"no xling-eval/{names[0]} in {data}", WHERE)
    root, note = paths[0].parents[1], f"{MARK}{DICTIONARIES}"
    train, test = (_entries(path, size) for path, size in zip(paths, SIZES.values(), strict=True))
    rows: list[dict[str, int]] = []
    for side, language in enumerate(pair.split("-")):
        words = [entry[side] for entry in (*train, *test)]
        vocabulary = root / "vocabulary" / f"{language}.txt"
        if vocabulary.is_file():
            words += [line.strip().lower() for _, line in filled_lines(vocabulary)]
            note = f"candidates are the words of {vocabulary.name} and of the dictionaries" if side else note
        rows.append({word: row for row, word in enumerate(dict.fromkeys(words))})
    source, target = rows
    translations: dict[int, dict[int, None]] = {}
    for word, translation in test:
        translations.setdefault(source[word], {})[target[translation]] = None
    lexicon = Lexicon(
        tuple(source),
        tuple(target),
        tuple((source[word], target[translation]) for word, translation in train),
        {word: tuple(right) for word, right in translations.items()},
    )
    return Task(
        name=f"bli-{pair}",
        title=f"BLI {pair}",
        source=str(root / pair),
        note=note,
        size=len(lexicon.test),
        texts=[*source, *target],
        lines=[f"{part}\n" for part in (*lexicon[:3], sorted(lexicon.test.items()))],
        score=partial(score_lexicon, lexicon),
    )


def _entries(path: Path, size: int) -> list[list[str]]:
    rows = [(number, [field.strip().lower() for field in fields]) for number, fields in tsv_rows(path)]
    for number, fields in rows:
        if len(fields) != 2 or not all(fields):
            raise bad_line(path, number, "a word and its translation", "\t".join(fields))
    check_count(path, len(rows), size, "pairs of words")
    return [fields for _, fields in rows]
