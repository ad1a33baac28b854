"""What is known of SentEval's classification sets before they are read: files, sizes, and where they are to be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trainers.evaluation.benchmarks import SENTEVAL
from trainers.evaluation.task import Missing

Part = Literal["all", "train", "dev", "test"]
Layout = Literal["classes", "trec", "mrpc", "sst2", "sst5"]

QUESTION_TYPES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


@dataclass(frozen=True, slots=True)
class File:
    """One file: how many items it holds, of which part, and, where a file holds one class, their label."""

    name: str
    items: int
    part: Part
    label: int = 0


@dataclass(frozen=True, slots=True)
class HubCopy:
    """A copy on the Hub with the same items: its name below an organisation, its splits by part, its columns."""

    organisation: str
    name: str
    splits: tuple[tuple[Part, tuple[str, ...]], ...]
    text: tuple[str, ...] = ("text",)
    label: str = "label"


@dataclass(frozen=True, slots=True)
class TransferSet:
    """One set. Its parts decide the protocol: `all` (nested folds), train and test (folds), or train, dev, test."""

    name: str
    title: str
    folders: tuple[str, ...]
    files: tuple[File, ...]
    layout: Layout
    classes: int
    card: str
    hub: HubCopy | None = None
    counted: bool = True

    @property
    def sizes(self) -> dict[Part, int]:
        """The published number of items of each part."""
        sizes: dict[Part, int] = {}
        for file in self.files:
            sizes[file.part] = sizes.get(file.part, 0) + file.items
        return sizes

    def missing(self, reason: str, where: str | None = None) -> Missing:
        """Say that it could not be found."""
        return Missing(self.name, self.title, reason, where or f"{SENTEVAL} or SentEval's get_transfer_data.bash")


def _classes(one: str, items: int, zero: str, others: int) -> tuple[File, File]:
    return File(one, items, "all", 1), File(zero, others, "all", 0)


def _sentiment(train: int, dev: int, test: int) -> tuple[File, ...]:
    return (
        File("sentiment-train", train, "train"),
        File("sentiment-dev", dev, "dev"),
        File("sentiment-test", test, "test"),
    )


_TRAIN_TEST: tuple[tuple[Part, tuple[str, ...]], ...] = (("train", ("train",)), ("test", ("test",)))

TRANSFER: tuple[TransferSet, ...] = (
    TransferSet(
        "mr", "MR", ("MR",), _classes("rt-polarity.pos", 5331, "rt-polarity.neg", 5331), "classes", 2, "mr",
        HubCopy("cornell-movie-review-data", "rotten_tomatoes", (("all", ("train", "validation", "test")),)),
    ),
    TransferSet("cr", "CR", ("CR",), _classes("custrev.pos", 2407, "custrev.neg", 1368), "classes", 2, "cr"),
    # SentEval calls the objective sentences the positive ones.
    TransferSet(
        "subj", "SUBJ", ("SUBJ",), _classes("subj.objective", 5000, "subj.subjective", 5000), "classes", 2, "subj",
        HubCopy("SetFit", "subj", (("all", ("train", "test")),)),
    ),
    TransferSet("mpqa", "MPQA", ("MPQA",), _classes("mpqa.pos", 3312, "mpqa.neg", 7294), "classes", 2, "mpqa"),
    TransferSet(
        "sst2", "SST-2", ("SST/binary", "sst/binary", "SST2"), _sentiment(67349, 872, 1821), "sst2", 2, "sst",
    ),
    TransferSet(
        "trec", "TREC", ("TREC",), (File("train_5500.label", 5452, "train"), File("TREC_10.label", 500, "test")),
        "trec", len(QUESTION_TYPES), "trec", HubCopy("SetFit", "TREC-QC", _TRAIN_TEST, label="label_coarse"),
    ),
    TransferSet(
        "mrpc", "MRPC", ("MRPC",),
        (File("msr_paraphrase_train.txt", 4076, "train"), File("msr_paraphrase_test.txt", 1725, "test")),
        "mrpc", 2, "mrpc",
        HubCopy("SetFit", "mrpc", (("train", ("train", "validation")), ("test", ("test",))), ("text1", "text2")),
    ),
    TransferSet(
        "sst5", "SST-5", ("SST/fine", "sst/fine", "SST5"), _sentiment(8544, 1101, 2210), "sst5", 5, "sst",
        HubCopy("SetFit", "sst5", (("train", ("train",)), ("dev", ("validation",)), ("test", ("test",)))),
        counted=False,
    ),
)  # fmt: skip
