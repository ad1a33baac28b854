"""Bilingual lexicon induction on xling-eval: Procrustes map, CSLS and cosine retrieval, mapped and unmapped.

Glavas et al. 2019 and Mirror-BERT's Table 6. Mapped vectors are unit, centred, unit vectors (VecMap) under the
orthogonal map of the training dictionary (Schoenemann 1966).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipelines.console import InputError
from trainers.evaluation.reading import check_count, file_lines, usual_folders
from trainers.evaluation.search import score_blocks, unit
from trainers.evaluation.task import HUB, MARK, Missing, Predictions, Result, Task
from trainers.files import file_sha256

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from trainers.embedding.vectors import Vectors

METRICS = ("acc@1", "MRR", "cosine acc@1", "unmapped acc@1")
REPORTED = ("en-fr", "en-it", "en-ru", "en-tr", "it-fr", "ru-fr")
"""The pairs of Mirror-BERT's Table 6, in its order."""
COUNTED = len(REPORTED)

PARENTS = ("", "lexical", "data")
FOLDERS = ("xling-eval", "xling-eval/bli_datasets", "bli_datasets")
WHERE = "https://github.com/codogogo/xling-eval (bli_datasets)"
PAIRS = tuple(f"{one}-{two}" for one, two in combinations(("de", "en", "fi", "hr", "it", "ru", "tr", "fr"), 2))
DICTIONARIES = (
    "candidates are the words of the dictionaries alone (how many: see the parts), papers retrieve among a large "
    "vocabulary, usually 200,000 words: an easier task, not to be compared with their rows"
)
SIZES = {"train.freq.5k": 5000, "test.freq.2k": 2000}

NEIGHBOURS = 10
TIED = 1e-6
"""Cosines that differ by no more than this are equal but for rounding."""


@dataclass(frozen=True, kw_only=True)
class LexiconPair(Task):
    """Words of two languages, with what is a translation of what.

    `source_words` and `target_words` are the vocabularies, dictionary words first: the target's are the candidates,
    the source's are what CSLS measures neighbourhoods in. `train` and `test` pair their rows.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    train: tuple[tuple[int, int], ...]
    test: Mapping[int, tuple[int, ...]]

    @property
    def size(self) -> int:
        """The number of distinct source words of the test dictionary."""
        return len(self.test)

    def texts(self) -> Iterable[str]:
        """Yield the words of both vocabularies."""
        yield from self.source_words
        yield from self.target_words

    def lines(self) -> Iterable[str]:
        """Yield both vocabularies and both dictionaries."""
        parts = (self.source_words, self.target_words, self.train, sorted(self.test.items()))
        return (f"{part}\n" for part in parts)

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return accuracy @1 and mean reciprocal rank of a word's best translation; nothing is drawn.

        Mapped, by CSLS and by cosine, and unmapped, by CSLS, as the vectors come from the encoder. With one
        translation per word the mean reciprocal rank is the MAP of Glavas et al. 2019. Undefined of sparse vectors.
        """
        source, target = vectors.of(self.source_words), vectors.of(self.target_words)
        if not isinstance(source, np.ndarray) or not isinstance(target, np.ndarray):
            return Result(dict.fromkeys(METRICS))
        one, two = centred(source), centred(target)
        rows = np.array(self.train)
        matrix = procrustes(one[rows[:, 0]], two[rows[:, 1]])
        found = self._ranks("mapped", np.asarray(one @ matrix.astype(np.float32)), two)
        found |= self._ranks("unmapped", source, target)
        right = {name: (rank == 1).astype(np.float64) for name, rank in found.items()}
        accuracy = {name: float(100 * outcomes.mean()) for name, outcomes in right.items()}
        reciprocal = {name: float(100 * (1 / rank).mean()) for name, rank in found.items()}
        parts = {
            name: {"acc@1": accuracy[name], "MRR": reciprocal[name], "candidates": len(self.target_words)}
            for name in found
        }
        by_csls = "mapped, CSLS"
        metrics = (accuracy[by_csls], reciprocal[by_csls], accuracy["mapped, cosine"], accuracy["unmapped, CSLS"])
        predictions = Predictions("mean", np.ones(self.size), right[by_csls])
        return Result(dict(zip(METRICS, metrics, strict=True)), predictions, parts)

    def _ranks(
        self, name: str, source: NDArray[np.float32], target: NDArray[np.float32]
    ) -> dict[str, NDArray[np.int64]]:
        found = ranks(source[list(self.test)], target, list(self.test.values()), neighbourhood(target, source))
        return {f"{name}, {how}": rank for how, rank in zip(("CSLS", "cosine"), found, strict=True)}


def procrustes(source: NDArray[np.floating], target: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the orthogonal matrix W that minimises ||source W - target||, in float64; row i of one translates i."""
    from scipy.linalg import orthogonal_procrustes

    return np.asarray(orthogonal_procrustes(source.astype(np.float64), target.astype(np.float64))[0])


def centred(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return unit vectors, less their mean, made unit again: VecMap's preprocessing (Artetxe et al. 2018)."""
    directions = unit(vectors)
    return unit(directions - directions.mean(axis=0, dtype=np.float64).astype(np.float32))


def neighbourhood(
    vectors: NDArray[np.float32], others: NDArray[np.float32], k: int = NEIGHBOURS
) -> NDArray[np.float32]:
    """Return each vector's mean cosine with its k nearest of `others`, shape (n,): r of CSLS (Lample et al. 2018)."""
    import torch

    k = min(k, len(others))
    blocks = score_blocks(unit(vectors), unit(others))
    return torch.cat([torch.topk(block, k, dim=1).values.mean(dim=1).cpu() for _, block in blocks]).float().numpy()


def ranks(
    queries: NDArray[np.float32], candidates: NDArray[np.float32], translations: Sequence[Sequence[int]],
    penalties: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """Return the ranks, from 1, of each query's best translation among the candidates, by CSLS and by cosine.

    CSLS is 2 cos(q, c) - r(q) - r(c) (Lample et al. 2018, Eq. 4), of which r(q) moves no rank and is left out.
    Scores that differ by no more than rounding tie: the first candidate is first.

    Args:
        queries: Mapped vectors (n, d) of source words.
        candidates: Vectors (m, d) of target words.
        translations: The rows of candidates that are right, for each query; one at least.
        penalties: r of each candidate: `neighbourhood(candidates, all mapped source words)`.
    """
    import torch

    by_csls, by_cosine = np.empty(len(queries), np.int64), np.empty(len(queries), np.int64)
    width = max(map(len, translations), default=1)
    # Repeating the first translation fills the rows without changing the best one.
    padded = torch.tensor([[*rows, *[rows[0]] * (width - len(rows))] for rows in translations])
    halves = torch.from_numpy(penalties) / 2
    for start, block in score_blocks(unit(queries), unit(candidates)):
        cosines = block.cpu().float()
        rows = slice(start, start + len(cosines))
        by_cosine[rows] = _best_ranks(cosines, padded[rows])
        # Half of CSLS ranks alike, and needs one pass.
        by_csls[rows] = _best_ranks(cosines.sub_(halves), padded[rows])
    return by_csls, by_cosine


def _best_ranks(scores: torch.Tensor, right: torch.Tensor) -> NDArray[np.int64]:
    """Return the rank of the best right column of each row; of equal ones the first column comes first."""
    import torch

    values = scores.gather(1, right)
    best = values.max(dim=1, keepdim=True).values
    first = right.masked_fill(values < best - TIED, scores.shape[1]).min(dim=1, keepdim=True).values
    # NumPy counts ten times as fast as torch.
    ahead = np.count_nonzero((scores > best + TIED).numpy(), axis=1)
    level = np.count_nonzero((scores >= best - TIED).numpy(), axis=1)
    for row in np.flatnonzero(level > ahead + 1):
        ties = torch.nonzero((scores[row] - best[row]).abs() <= TIED)
        ahead[row] += int((ties < first[row]).sum())
    return np.asarray(ahead + 1, np.int64)


def find(data: str) -> tuple[list[LexiconPair], list[Missing]]:
    """Read every pair of languages that is in a folder, Mirror-BERT's first: only those are averaged.

    A pair is read the other way round where only that is there, and is then in no average. On the Hub there is none.

    Raises:
        InputError: A file is malformed, or a count is not the published one.
    """
    if data.startswith(HUB):
        return [], [_missing(pair, "not on the Hub in the form that is read") for pair in REPORTED]
    roots = usual_folders(FOLDERS, Path(data).expanduser(), PARENTS)
    root = next((folder for folder in roots if any(_has(folder, pair) for pair in REPORTED)), next(iter(roots), None))
    found, missing, others = [], [], []
    for pair in [*REPORTED, *(pair for pair in PAIRS if not {pair, _reverse(pair)} & set(REPORTED))]:
        there = next((name for name in (pair, _reverse(pair)) if root and _has(root, name)), None)
        if there is not None and root is not None:
            found.append(_read(root, there))
        if pair in REPORTED and there != pair:
            missing.append(_missing(pair, f"no xling-eval/{pair}/yacle.*.{pair}.tsv below {Path(data).expanduser()}"))
        elif there is None:
            others.append(pair)
    if others:
        reason = f"no {', '.join(others)} below {root or Path(data).expanduser()} (in no average)"
        missing.append(Missing("bli-others", "BLI, other pairs", reason, WHERE))
    return found, missing


def _missing(pair: str, reason: str) -> Missing:
    return Missing(f"bli-{pair}", f"BLI {pair}", reason, WHERE)


def _reverse(pair: str) -> str:
    return "-".join(reversed(pair.split("-")))


def _has(root: Path, pair: str) -> bool:
    return all((root / pair / f"yacle.{part}.{pair}.tsv").is_file() for part in SIZES)


def _read(root: Path, pair: str) -> LexiconPair:
    paths = [root / pair / f"yacle.{part}.{pair}.tsv" for part in SIZES]
    train, test = (_entries(path, size) for path, size in zip(paths, SIZES.values(), strict=True))
    vocabularies = [root / "vocabulary" / f"{language}.txt" for language in pair.split("-")]
    words = [
        dict.fromkeys([*(entry[side] for entry in [*train, *test]), *(_words(path) if path.is_file() else [])])
        for side, path in enumerate(vocabularies)
    ]
    source, target = ({word: row for row, word in enumerate(side)} for side in words)
    translations: dict[int, dict[int, None]] = {}
    for one, two in test:
        translations.setdefault(source[one], {})[target[two]] = None
    if vocabularies[1].is_file():
        note = f"candidates are the words of {vocabularies[1].name} and of the dictionaries"
    else:
        note = f"{MARK}{DICTIONARIES}"
    if _reverse(pair) in REPORTED:
        note += f"; papers report {_reverse(pair)}: not averaged"
    read = [*paths, *(path for path in vocabularies if path.is_file())]
    return LexiconPair(
        name=f"bli-{pair}", title=f"BLI {pair}", source=str(root / pair), note=note, counted=pair in REPORTED,
        files={f"{path.parent.name}/{path.name}": file_sha256(path) for path in read},
        source_words=tuple(source), target_words=tuple(target),
        train=tuple((source[one], target[two]) for one, two in train),
        test={word: tuple(rows) for word, rows in translations.items()},
    )  # fmt: skip


def _entries(path: Path, size: int) -> list[tuple[str, str]]:
    entries = []
    for number, line in enumerate(file_lines(path), 1):
        fields = [field.strip().lower() for field in line.split("\t")]
        if len(fields) != 2 or not all(fields):
            raise InputError(f"{path} line {number}: expected a word and its translation, got {line[:60]!r}")
        entries.append((fields[0], fields[1]))
    check_count(path, len(entries), size, "pairs of words")
    return entries


def _words(path: Path) -> list[str]:
    words = [word for line in file_lines(path) if (word := line.strip().lower())]
    odd = next((word for word in words if len(word.split()) > 1), None)
    if not words or odd:
        raise InputError(f"{path}: expected a word a line, got {odd[:60] if odd else 'nothing'!r}")
    return words
