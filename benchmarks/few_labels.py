"""A classifier from a few labelled sentences: does training the encoder on them pay?

    python benchmarks/few_labels.py train.csv --test test.csv --label category --shots 10 --out few

For each of `--shots` (labels a class) and each of `--draws`, a sample of the training file is ingested, its sentences
of the same label are paired (`augment build-pairs --pairs labels`), an encoder is trained on the pairs for at least 48
steps (`train contrastive`), and scikit-learn's logistic regression on its vectors is scored on the whole test file. The
rows: `untouched`, the encoder as it is; `labels`, trained on same-label pairs.

Prints a table: accuracy, mean over the draws, and the difference to `untouched` with its 95% interval (paired bootstrap
over the test's items, draws together). Trained encoders are not trained again. The best classifier goes to
`OUT/classifier`: an encoder that sentence-transformers loads, and `classifier.skops` beside it, which `skops.io.load`
(`pip install skops`) gives to scikit-learn.
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from pipelines.storage.pair_files import read_pairs

PROGRAMS = Path(sys.executable).parent
TRAINING = "--preset labels"
STEPS, BATCH_SIZE = 48, 64  # few pairs are read in as many epochs as make so many steps
STRENGTHS = [1.0, 4.0, 16.0, 64.0, 256.0]  # scikit-learn's C for vectors of length 1
Examples = list[tuple[str, str]]


def read(path: Path, text: str, label: str) -> Examples:
    """Return texts and labels of a CSV file."""
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            (row[text], row[label])
            for row in csv.DictReader(stream)
            if row[text].strip() and row[label].strip()
        ]


def draw(examples: Examples, shots: int, seed: int) -> Examples:
    """Return so many examples of each label."""
    by_label = defaultdict(list)
    for text, label in examples:
        by_label[label].append(text)
    generator = np.random.default_rng(seed)
    return [
        (texts[place], label)
        for label, texts in sorted(by_label.items())
        for place in generator.permutation(len(texts))[:shots]
    ]


def call(command: str, folder: Path) -> None:
    """Run one of our programs in a folder; its words go to a log there."""
    program, *words = shlex.split(command)
    with (folder / "log.txt").open("a", encoding="utf-8") as log:
        subprocess.run([PROGRAMS / program, *words], cwd=folder, check=True, stdout=log, stderr=log)


@lru_cache(maxsize=32)
def vectors_of(encoder: str, texts: tuple[str, ...]) -> NDArray[np.float32]:
    """Return vectors of length 1, (texts, d), by the encoder in a folder."""
    model = SentenceTransformer(encoder, device="cpu")
    return np.asarray(
        model.encode(list(texts), batch_size=128, normalize_embeddings=True, show_progress_bar=False)
    )


def classifier_of(vectors: NDArray[np.float32], labels: list[str]) -> LogisticRegression:
    """Return logistic regression with the C that is best in five folds, or in as many as every label allows."""
    folds = min(5, min(map(labels.count, set(labels))))
    regression = LogisticRegression(max_iter=1_000)
    if folds < 2:
        return regression.set_params(C=STRENGTHS[2]).fit(vectors, labels)
    search = GridSearchCV(
        regression, {"C": STRENGTHS}, cv=StratifiedKFold(folds, shuffle=True, random_state=0)
    )
    return search.fit(vectors, labels).best_estimator_


def train(folder: Path, encoder: str, options: str) -> Path:
    """Return the encoder that is trained on a sample, in `folder`."""
    run = folder / "runs" / "labels"
    if not (run / "modules.json").is_file():
        pairs = "data/labels.arrow"
        call(f"augment build-pairs --pairs labels --out {pairs}", folder)
        epochs = -(-STEPS * BATCH_SIZE // len(read_pairs(folder / pairs)))
        words = f"--views {pairs} --encoder {encoder} --out runs/{run.name} --epochs {epochs} {options}"
        call(f"train contrastive {words}", folder)
    return run


def judge(
    folder: Path, row: str, options: argparse.Namespace, sample: Examples, test: Examples
) -> tuple[NDArray[np.bool_], Any]:
    """Return which items of the test a row gets right, and its encoder's folder and classifier."""
    path = options.encoder if row == "untouched" else str(train(folder, options.encoder, options.training))
    if row == "untouched" and not Path(path).is_dir():
        from trainers.encoders.location import locate

        path = str(locate(path).folder)
    texts, labels = zip(*sample, strict=True)
    classifier = classifier_of(vectors_of(path, texts), list(labels))
    texts, labels = zip(*test, strict=True)
    return classifier.predict(vectors_of(path, texts)) == np.array(labels), (path, classifier)


def interval(differences: NDArray[np.float64], resamples: int = 2_000) -> tuple[float, float]:
    """Return the 95% percentile interval of the mean of differences (draws, items), items resampled."""
    means = differences.mean(0)
    places = np.random.default_rng(0).integers(0, len(means), (resamples, len(means)))
    low, high = np.percentile(means[places].mean(1), [2.5, 97.5])
    return float(low), float(high)


def save(folder: Path, best: Any) -> None:  # noqa: ANN401 - an encoder and a classifier
    """Write encoder and classifier."""
    import skops.io

    encoder, classifier = best
    shutil.rmtree(folder, ignore_errors=True)
    SentenceTransformer(encoder, device="cpu").save(str(folder))
    skops.io.dump(classifier, folder / "classifier.skops")


def main() -> None:
    """Do what is not done, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--text", default="text")
    parser.add_argument("--label", default="label")
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    parser.add_argument("--shots", type=int, nargs="+", default=[10])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--training", default=TRAINING, help="further options of `train contrastive`")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if Path(options.encoder).is_dir():
        options.encoder = str(Path(options.encoder).resolve())
    examples, test = (read(path, options.text, options.label) for path in (options.train, options.test))
    rows = ["untouched", "labels"]
    best: tuple[float, Any] = (-1.0, None)
    print("| labels a class | row | accuracy | difference | 95% interval |\n|--:|---|--:|--:|---|", flush=True)
    for shots in options.shots:
        outcomes: dict[str, list[NDArray[np.bool_]]] = {row: [] for row in rows}
        for number in range(options.draws):
            folder = options.out / f"{shots}-{number}"
            folder.mkdir(parents=True, exist_ok=True)
            sample = draw(examples, shots, number)
            if not (folder / "data" / "sentences").is_dir():
                with (folder / "sample.csv").open("w", encoding="utf-8", newline="") as stream:
                    csv.writer(stream).writerows([("text", "label"), *sample])
                call("augment ingest sample.csv --column text --label-column label", folder)
            for row in rows:
                result, judged = judge(folder, row, options, sample, test)
                outcomes[row].append(result)
                best = max(best, (float(result.mean()), judged), key=lambda pair: pair[0])
        untouched = np.array(outcomes["untouched"], float)
        for row in rows:
            scores = np.array(outcomes[row], float)
            low, high = interval(scores - untouched)
            change = f"{100 * (scores - untouched).mean():+.2f} | {100 * low:+.2f} to {100 * high:+.2f}"
            print(f"| {shots} | {row} | {100 * scores.mean():.2f} | {change} |", flush=True)
        record = {row: [float(result.mean()) for result in results] for row, results in outcomes.items()}
        (options.out / f"{shots}.json").write_text(json.dumps(record, indent=2), encoding="utf-8")
    save(options.out / "classifier", best[1])
    print(f"{options.out / 'classifier'}: the best classifier, {100 * best[0]:.2f}")


if __name__ == "__main__":
    main()
