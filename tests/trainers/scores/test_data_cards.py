"""The data cards: complete front matter, and the sizes that the code checks."""

import gzip
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainers.scores.suites import bli, linking, transfer
from trainers.scores.suites.afs import BENCHMARKS as ARGUMENTS
from trainers.scores.suites.contradiction import BENCHMARKS as CONTRADICTION
from trainers.scores.suites.lexical import BENCHMARKS as LEXICAL
from trainers.scores.suites.qnli import BENCHMARKS as QNLI
from trainers.scores.suites.sample import SAMPLE
from trainers.scores.suites.sts import BENCHMARKS as STS
from trainers.scores.suites.sts_multilingual import SETS as MULTILINGUAL

ROOT = Path(__file__).parents[3]
CARDS = sorted((ROOT / "data_cards").glob("*.md"))
OF_BENCHMARK = {
    "stsb": "stsbenchmark",
    "stsb-dev": "stsbenchmark",
    "sickr": "sick",
    "sample": "sample-pairs",
    "simlex999": "simlex-999",
    **{item.name: "multi-simlex" for item in LEXICAL if item.name.startswith("multi")},
}
PLACES: dict[str, tuple[str, ...]] = {
    **{f"sts{year}": ("sts",) for year in (12, 13, 14, 15, 16)},
    "stsbenchmark": ("sts/stsbenchmark",),
    "sick": ("sts/SICK",),
    "stsb-multi-mt": ("sts/stsb-multi-mt",),
    "sts17": ("sts17",),
    "simlex-999": ("lexical/simlex-999",),
    "multi-simlex": ("lexical/multi-simlex",),
    "xling-eval": ("lexical/xling-eval/*",),
    "ukp-aspect": ("afs",),
    "qnli": ("qnli",),
    "breaking-nli": ("nli/breaking_nli",),
    "counterfactual-snli": ("nli/counterfactual-snli/revised_hypothesis",),
    "ncbi-disease": ("bel/ncbi-disease", "bel/dictionary"),
    "bc5cdr": ("bel/bc5cdr", "bel/dictionary"),
    "xl-bel": ("bel/xl-bel",),
    **{name: (f"senteval/{name.upper()}",) for name in ("mr", "cr", "subj", "mpqa", "sst", "trec", "mrpc")},
    "multi30k": ("parallel/multi30k", "corpora/multi30k-task2"),
    "tatoeba": ("parallel/tatoeba-manythings",),
    "mirror-10k": ("corpora",),
}
"""The folders of the research data that have the files of a card's checksums."""


def front_matter(name: str) -> dict[str, Any]:
    _, header, _ = (ROOT / "data_cards" / f"{name}.md").read_text(encoding="utf-8").split("---\n", 2)
    values = yaml.safe_load(header)
    assert isinstance(values, dict)
    return values


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_a_card_is_complete(card: Path) -> None:
    values = front_matter(card.stem)
    assert {"name", "title", "rows", "licence", "url", "citation"} <= values.keys()
    assert values["name"] == card.stem
    assert isinstance(values["rows"], int)
    assert all(values[key] for key in ("title", "licence", "url", "citation"))
    text = card.read_text(encoding="utf-8")
    for heading in ("**Where to get it.**", "**Layout.**", "**Caution.**", "**Licence.**"):
        assert heading in text


def sizes() -> Iterator[tuple[str, str, object]]:
    """Yield card, key and the value that the code checks a file's size against."""
    for benchmark in (*STS, *LEXICAL, SAMPLE, *QNLI, *CONTRADICTION[1:]):
        card = OF_BENCHMARK.get(benchmark.name, benchmark.name)
        if benchmark.name != "stsb-dev":
            yield card, "rows", sum(benchmark.sizes.values())
        if card.startswith("sts1"):
            yield (
                card,
                "subsets",
                {name.removeprefix("surprise."): size for name, size in benchmark.sizes.items()},
            )
    sums = {item.name: sum(item.sizes.values()) for item in MULTILINGUAL}
    tracks = {name.removeprefix("sts17-"): size for name, size in sums.items() if name.startswith("sts17-")}
    yield "sts17", "subsets", tracks
    yield (
        "sts-es",
        "subsets",
        {name: sums[name] for name in ("sts14-es", "sts15-es")},
    )
    yield "msrvid-ru", "rows", sums["sts12-ru"]
    *topics, aspect = ARGUMENTS
    yield "afs", "subsets", {name: size for item in topics for name, size in item.sizes.items()}
    yield "ukp-aspect", "subsets", aspect.sizes
    for corpus in transfer.CORPORA:
        parts, card = dict(corpus.files.values()), corpus.name.replace("sst2", "sst")
        if "all" in parts:
            yield card, "subsets", {file: size for file, (_, size) in corpus.files.items()}
        else:
            yield card, "splits", parts
    prepared = {known.name: known.mentions for known in linking.MENTION_SETS}
    yield "bc5cdr", "subsets", {kind: prepared[f"bc5cdr-{kind}"] for kind in ("disease", "chemical")}
    for name in ("ncbi-disease", "xl-bel", "cometa"):
        yield name, "rows", prepared[name]
    yield "xling-eval", "splits", {"train": bli.SIZES["train.freq.5k"], "test": bli.SIZES["test.freq.2k"]}


@pytest.mark.parametrize(("card", "key", "value"), list(sizes()))
def test_the_sizes_are_those_that_the_code_checks(card: str, key: str, value: object) -> None:
    assert front_matter(card)[key] == value


def test_every_checksum_is_well_formed_and_compared_with_a_file() -> None:
    listed = {card.stem: values for card in CARDS if (values := front_matter(card.stem).get("sha256"))}
    assert set(listed) == set(PLACES)
    assert all(re.fullmatch("[0-9a-f]{64}", value) for values in listed.values() for value in values.values())


@pytest.mark.parametrize("card", PLACES)
def test_the_checksums_are_those_of_the_files(research_data: Path, card: str) -> None:
    given = front_matter(card)["sha256"]
    paths = {
        name: path
        for name in given
        for folder in PLACES[card]
        for ending in ("", ".gz")
        for path in research_data.glob(f"{folder}/{name}{ending}")
    }
    if not paths:
        pytest.skip(f"no files of {card}")
    assert {name: content_sha256(path, name) for name, path in paths.items()} == {
        name: given[name] for name in paths
    }


def content_sha256(path: Path, name: str) -> str:
    """Return the checksum of a file, or of its content if it is gzipped and the card's name is not."""
    raw = path.read_bytes()
    return hashlib.sha256(raw if path.name == Path(name).name else gzip.decompress(raw)).hexdigest()


def test_the_sample_corpus_has_the_rows_of_its_card() -> None:
    lines = (ROOT / "pipelines" / "sample" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) == front_matter("sample-corpus")["rows"]
