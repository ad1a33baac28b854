"""The options of commands, which jobs take and typer reads; imports nothing heavy, for `--help`."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import Field

from augment.view import Runtime
from pipelines.base.options import Options
from pipelines.base.recipe import ConfigOption
from pipelines.base.tables.sources import Format
from pipelines.storage.shards import SHARD_ROWS

Policy = Literal["best", "bsl", "original", "self", "multilingual", "entailment", "columns", "labels"]
SENTENCES = Path("data/sentences")
SAMPLE_ROWS = 2_000
"""Rows of which statistics are."""

SHOWN, RUNNING, OUTPUT = (typer.Option(rich_help_panel=panel) for panel in (None, "Running", "Output"))
Limit = Annotated[int | None, Field(ge=1), RUNNING]
Workers = Annotated[int, Field(ge=1), RUNNING]
Device = Annotated[str, RUNNING]
BatchTokens = Annotated[int | None, Field(ge=1), RUNNING]
Json = Annotated[bool, Field(alias="json"), OUTPUT]
DatasetPath = Annotated[Path, typer.Argument()]


class OutputOptions(Options):
    """The options of every command that writes."""

    overwrite: Annotated[bool, OUTPUT] = False
    """Replace an earlier output of this program."""
    as_json: Json = False
    """Results as JSON."""
    config: ConfigOption = None


class ViewOptions(OutputOptions):
    """The options that every view command has."""

    sources: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]...")] = None
    """Files (ingested to data/sentences, or beside --out if that has others) or a folder of sentences.
    [data/sentences, else the sample]"""
    out: Annotated[Path | None, OUTPUT] = None
    """Folder of the view dataset. [data/views/NAME]"""
    seed: Annotated[int, RUNNING] = 0
    """Seed of the run; each row's seed comes from it."""
    limit: Limit = None
    """Only the first N sentences."""
    shard_size: Annotated[int, Field(ge=1), OUTPUT] = SHARD_ROWS
    """Rows committed at once."""
    workers: Workers = 1
    """Worker processes; they share the GPUs."""
    device: Device = "auto"
    """auto, cpu, cuda or cuda:N."""
    batch_tokens: BatchTokens = None
    """Tokens in a batch, padding included."""
    concurrency: Annotated[int, Field(ge=1), RUNNING] = 16
    """Requests at once to a server."""
    engine: Annotated[Literal["local", "ray"], RUNNING] = "local"
    """Run workers here, or on a Ray cluster."""
    address: Annotated[str | None, RUNNING] = None
    """Address of the Ray cluster. [a local or new one]"""

    @property
    def runtime(self) -> Runtime:
        """What views and filters are built with; it changes no text."""
        return Runtime(self.device, self.batch_tokens, self.concurrency)


class IngestOptions(OutputOptions):
    """What to ingest and how: without `split`, each row is a sentence."""

    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", show_default=False)]
    """Text, Markdown, HTML, CSV, TSV, JSONL, Parquet or Arrow files, .gz and .zst of these,
    folders of save_to_disk, hf:NAME[:CONFIG][:SPLIT], or - for stdin."""
    column: str | None = None
    """Column of the sentences: by name, as translation.en if it is inside another, or (CSV, TSV) by number from 1.
    A CSV's first row is its header if it names that column, text or sentence. [text, sentence or the only one]"""
    label_column: str = "label"
    """Column to keep as label, if there is one."""
    format: Format | None = None
    """Format of all sources, whatever their endings."""
    split: Literal["sentences"] | None = None
    """Split running text into sentences."""
    language: str = "en"
    """The language for --split, such as en, de or zh."""
    min_words: Annotated[int | None, Field(ge=0), SHOWN] = None
    """Drop sentences of fewer words; a letter of Chinese, Japanese, Thai and the like is one."""
    max_words: Annotated[int | None, Field(ge=1), SHOWN] = None
    """Drop sentences of more words."""
    out: Annotated[Path, OUTPUT] = SENTENCES
    """Folder of the sentences."""
    limit: Limit = None
    """Only the first N sentences."""
    shard_size: Annotated[int, Field(ge=1), OUTPUT] = 50_000
    """Rows in a shard."""

    @property
    def words(self) -> tuple[int, int | None] | None:
        """The fewest and the most words of a sentence (None: any number); None if neither was given."""
        if self.min_words is None and self.max_words is None:
            return None
        return self.min_words or 0, self.max_words


class PairsOptions(OutputOptions):
    """The options of `build-pairs`."""

    sources: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]...")] = None
    """For entailment NLI files (JSONL, TSV, CSV) or hf:NAME, for columns any tables, else: Files (ingested to
    data/sentences) or a folder of sentences. [data/sentences, else the sample]"""
    pairs: Policy | None = None
    """best: sentence x the best of its views; bsl: two views (back-translations); original: sentence x each view;
    self: sentence x itself; multilingual: sentence x each translation; entailment: premise x entailed hypothesis of
    NLI sources; columns: two --columns of tables; labels: sentences of one label. [best for
    back-translations by the bundled models, else bsl]"""
    view: list[str] | None = None
    """A view to pair, by its folder's name in data/views or its path; missing ones are made. For bsl twice, for
    best, original and multilingual once or more. [for best and bsl: backtranslate-de, backtranslate-fr]"""
    filter: list[str] | None = None
    """Drop pairs by a filter: NAME or NAME:key=value,key=value, such as semantic:min=0.6,encoder=starter; may be
    repeated."""
    default_filters: bool = True
    """Drop back-translations that are no paraphrases, and pairs of two equal texts; for bsl, an alternative or the
    sentence itself takes the place of one that is dropped."""
    rejects: Annotated[bool, OUTPUT] = False
    """Write the dropped pairs too, with their reasons, beside the pairs. [data/pairs.rejects.arrow]"""
    negatives: bool = False
    """For entailment: add a column `negative`, a contradiction of the same premise; held in memory."""
    negative_view: str | None = None
    """For original, best and bsl: a column `negative` of this view of the sentence, such as contradiction,
    where it is ok; made if missing. A sentence that has one and no pair is paired with itself."""
    columns: str | None = None
    """For columns: LEFT,RIGHT, two columns of the tables given as SOURCE, or LEFT,RIGHT,NEGATIVE; for entailment
    PREMISE,HYPOTHESIS,LABEL."""
    labels: str | None = None
    """For entailment: what other labels mean, such as 0=entailment,1=neutral,2=contradiction."""
    per_sentence: Annotated[int, Field(ge=1), SHOWN] = 4
    """For labels: pairs per sentence, on average; each label has equally many, if it can."""
    out: Annotated[Path | None, OUTPUT] = None
    """File to write. [data/pairs.arrow; with --shards the folder data/pairs]"""
    shards: Annotated[int | None, Field(ge=1), OUTPUT] = None
    """Write a folder of N shards, for large outputs."""
    seed: Annotated[int | None, RUNNING] = None
    """Seed of the views to make and of draws. [that of the other view, else 0]"""
    limit: Limit = None
    """Only the first N sentences, or NLI rows."""
    workers: Workers = 1
    """Worker processes; they share the GPUs."""
    device: Device = "auto"
    """auto, cpu, cuda or cuda:N."""
    batch_tokens: BatchTokens = None
    """Tokens in a batch, padding included."""

    @property
    def target(self) -> Path:
        """The file or, with shards, the folder to write."""
        return self.out or Path("data/pairs" if self.shards else "data/pairs.arrow")

    @property
    def view_options(self) -> ViewOptions:
        """How missing views are made and filters are run."""
        return ViewOptions(workers=self.workers, device=self.device, batch_tokens=self.batch_tokens)


class LookOptions(Options):
    """The options of `inspect` and `report`."""

    path: DatasetPath
    """A folder of sentences, of a view or of pairs, or a pairs.arrow."""
    sample: Annotated[int, Field(ge=0), SHOWN] = SAMPLE_ROWS
    """Rows to sample for the statistics; 0 for all."""
    judge_encoder: str | None = None
    """Encoder by which a view is worth keeping: a folder or Hub name, or starter."""
    as_json: Json = False
    """Results as JSON."""
    config: ConfigOption = None


class InspectOptions(LookOptions):
    """The options of `inspect`."""

    rows: Annotated[int, Field(ge=0), SHOWN] = 5
    """Sample rows to show, spread evenly."""
    seed: int | None = None
    """Draw the rows and the sample at random."""


class ReportOptions(LookOptions):
    """The options of `report`."""

    out: Annotated[Path | None, OUTPUT] = None
    """File to write. [PATH with the ending .report.html]"""
    overwrite: Annotated[bool, OUTPUT] = False
    """Replace an earlier output of this program."""
    rows: Annotated[int, Field(ge=0), SHOWN] = 20
    """Sample rows on the page, spread evenly."""
    seed: int = 0
    """Seed of the sample of the statistics."""


class ExportOptions(OutputOptions):
    """The options of `export`."""

    path: DatasetPath
    """A folder of sentences, of a view or of pairs, or a pairs.arrow."""
    to: str = "parquet"
    """Format to write (parquet, jsonl or csv), or hf:NAME, a dataset on the Hub."""
    out: Annotated[Path | None, OUTPUT] = None
    """File to write. [PATH with the format's ending]"""
    public: bool = False
    """For hf: make it public."""
    license: str = "unknown"
    """For hf: the licence of the texts, as the Hub names it, such as cc-by-sa-4.0."""
    carry: bool = False
    """For a view: the rows of the tables that were ingested, with all of their columns, and the view of each."""
    limit: Limit = None
    """Only the first N rows."""
    dry_run: Annotated[bool, OUTPUT] = False
    """For hf: show what would be sent; send nothing."""


class VerifyOptions(Options):
    """The options of `verify`."""

    paths: Annotated[list[Path], typer.Argument(metavar="PATH...")]
    """Datasets, pairs, rejects or exports, or a folder that holds some, such as data."""
    as_json: Json = False
    """Results as JSON."""


class ListOptions(Options):
    """The options of `views`."""

    as_json: Json = False
    """Results as JSON."""
