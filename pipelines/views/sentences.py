"""The sentences that SOURCE arguments name."""

from collections.abc import Sequence
from pathlib import Path

from pipelines.console import note
from pipelines.files import locate
from pipelines.folder import Dataset, open_dataset
from pipelines.ingest import Ingest, count_sentences, ingest
from pipelines.plan import read_plan
from pipelines.reading.sources import SAMPLE

DATA = Path("data")
SENTENCES = DATA / "sentences"


def sentences_for(names: Sequence[str], *, dry_run: bool = False) -> Dataset:
    """The sentences that SOURCE arguments name: a folder of ours, files, or with none `data/sentences` or the sample.

    Files are ingested to `data/sentences`; in a dry run they are counted.

    Raises:
        InputError: A bad source, or `data/sentences` holds others.
    """
    if len(names) == 1 and read_plan(locate(names[0])) is not None:
        return open_dataset(locate(names[0]), "sentences")
    if not names and read_plan(SENTENCES) is not None:
        return open_dataset(SENTENCES, "sentences")
    if not names:
        note(f"no SOURCE and no {SENTENCES}/: taking the bundled sample corpus")
    sources = list(names) or [SAMPLE]
    advice = f"run `augment ingest {' '.join(sources)} --out {DATA}/other` and give {DATA}/other as SOURCE"
    if dry_run:
        return count_sentences(Ingest(sources), SENTENCES, advice=advice)
    dataset, made = ingest(Ingest(sources), SENTENCES, advice=advice)
    if made:
        note(f"{dataset.rows:,} sentences ingested to {dataset.path}/")
    return dataset
