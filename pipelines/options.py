"""The options of commands, as dataclasses that jobs take and typer reads; imports nothing heavy, for `--help`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import typer

from augment.view import Runtime
from pipelines.storage.plan import MAX_INTEGER
from pipelines.storage.recipe import ConfigOption
from pipelines.storage.shards import SHARD_ROWS

Policy = Literal[
    "best", "bsl", "original", "self", "multilingual", "entailment", "columns", "neighbours", "labels"
]
Format: TypeAlias = Literal["text", "markdown", "html", "csv", "tsv", "jsonl", "parquet", "arrow"]
SENTENCES = Path("data/sentences")
MAX_DOCUMENT = 50
"""Millions of characters of a document, which is held in memory several times."""

SOURCES_HELP = "Files (ingested to data/sentences) or a folder of sentences. [data/sentences, else the sample]"
ADDRESS_HELP = "Address of the Ray cluster. [a local or new one]"
MIN_WORDS_HELP = "Drop sentences of fewer words; a letter of Chinese, Japanese, Thai and the like is one."
FILES_HELP = (
    "Text, Markdown, HTML, CSV, TSV, JSONL, Parquet or Arrow files, .gz and .zst of these, hf:NAME[:CONFIG][:SPLIT], "
    "or - for stdin."
)
COLUMN_HELP = (
    "Column of the sentences: by name, as translation.en if it is inside another, or (CSV, TSV) by number from 1. A "
    "CSV's first row is its header if it names that column, text or sentence. [text, sentence or the only one]"
)
CONFLICT_HELP = "For a text with several labels or pairs: keep its first row, drop the text, or fail."
DOCUMENT_HELP = (
    "Refuse Markdown, HTML and JSON arrays of more million characters: each is held in memory whole."
)
LABELS_HELP = "Labels are spans: [[start, end, label], ...]."
NLI_HELP = (
    f"For entailment NLI files (JSONL, TSV, CSV) or hf:NAME, for --columns any tables, else: {SOURCES_HELP}"
)
PAIRS_HELP = (
    "best: sentence x the best of its views; bsl: two views (back-translations); original: sentence x each view; self: "
    "sentence x itself; multilingual: sentence x each translation; entailment: premise x entailed hypothesis of NLI "
    "sources; columns: sentence x its `pair`, or two --columns of tables; neighbours: sentences near each other in a "
    "document; labels: sentences of one label. [best for back-translations by the bundled models, else bsl]"
)
VIEW_HELP = (
    "A view to pair, by its folder's name in data/views or its path; missing ones are made. For bsl twice, for "
    "best, original and multilingual once or more; for columns, neighbours and labels, a seed draws each side from the "
    "sentence and its views. [for best and bsl: backtranslate-de, backtranslate-fr]"
)
FILTER_HELP = (
    "Drop pairs by a filter: NAME or NAME:key=value,key=value, such as semantic:min=0.6,encoder=starter; may be "
    "repeated."
)
DEFAULT_FILTERS_HELP = "Drop back-translations that are no paraphrases, and pairs of two equal texts."
ALTERNATIVES_HELP = (
    "Make pairs of a view's alternatives too, not of its first text alone; those left out are counted. [only for "
    "import-views]"
)
STRICT_HELP = (
    "For bsl: drop a sentence unless both back-translations pass. Else an alternative or the sentence itself takes "
    "the place of one that does not."
)
REJECTS_HELP = "Arrow stream file for the dropped pairs, with their reasons."
NEGATIVES_HELP = (
    "For entailment: add a column `negative`, a contradiction of the same premise; held in memory."
)
PAIRS_OUT_HELP = "File to write. [data/pairs.arrow; with --shards the folder data/pairs]"
NEGATIVE_VIEW_HELP = (
    "For original, bsl and columns: a column `negative` of this view of the sentence, such as contradiction, where it "
    "is ok; made if missing."
)
COLUMNS_HELP = (
    "For columns: LEFT,RIGHT, two columns of the tables given as SOURCE; "
    "for entailment PREMISE,HYPOTHESIS,LABEL."
)
MEANINGS_HELP = "For entailment: what other labels mean, such as 0=entailment,1=neutral,2=contradiction."
PER_SENTENCE_HELP = "For labels: pairs per sentence, on average; each label has equally many, if it can."
PAIRS_SEED_HELP = "Seed of the views to make and of draws. [that of the other view, else 0]"


def _check_size(value: int | None) -> int | None:
    if value is not None and abs(value) > MAX_INTEGER:
        raise typer.BadParameter(f"Input should be between {-MAX_INTEGER} and {MAX_INTEGER}")
    return value


Number = partial(typer.Option, callback=_check_size)
Running, Output = (partial(typer.Option, rich_help_panel=panel) for panel in ("Running", "Output"))
RunningNumber, OutputNumber = partial(Running, callback=_check_size), partial(Output, callback=_check_size)
LimitOption = Annotated[int | None, RunningNumber(min=1, help="Only the first N sentences.")]
WorkersOption = Annotated[int, RunningNumber(min=1, help="Worker processes; they share the GPUs.")]
DeviceOption = Annotated[str, Running(help="auto, cpu, cuda or cuda:N.")]
BatchTokensOption = Annotated[int | None, RunningNumber(min=1, help="Tokens in a batch, padding included.")]
DryRunOption = Annotated[bool, Output("--dry-run", help="Show what would be made; write nothing.")]
OverwriteOption = Annotated[bool, Output("--overwrite", help="Replace an earlier output of this program.")]
JsonOption = Annotated[bool, Output("--json", help="Results as JSON.")]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The options of every command that writes; keyword-only, so that a command's own come first."""

    dry_run: DryRunOption = False
    overwrite: OverwriteOption = False
    json: JsonOption = False
    config: ConfigOption = None


@dataclass(frozen=True)
class ViewOptions(OutputOptions):
    """The options that every view command has."""

    sources: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]...", help=SOURCES_HELP)] = None
    out: Annotated[Path | None, Output(help="Folder of the view dataset. [data/views/NAME]")] = None
    seed: Annotated[int, RunningNumber(help="Seed of the run; each row's seed comes from it.")] = 0
    limit: LimitOption = None
    shard_size: Annotated[int, OutputNumber(min=1, help="Rows committed at once.")] = SHARD_ROWS
    workers: WorkersOption = 1
    device: DeviceOption = "auto"
    batch_tokens: BatchTokensOption = None
    engine: Annotated[Literal["local", "ray"], Running(help="Run workers here, or on a Ray cluster.")] = (
        "local"
    )
    address: Annotated[str | None, Running(help=ADDRESS_HELP)] = None
    profile: Annotated[bool, Running("--profile", help="Print seconds by stage on stderr.")] = False

    @property
    def runtime(self) -> Runtime:
        """What views and filters are built with; it changes no text."""
        return Runtime(self.device, self.batch_tokens)


@dataclass(frozen=True)
class IngestOptions(OutputOptions):
    """What to ingest and how: without `split`, each row is a sentence."""

    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help=FILES_HELP, show_default=False)]
    column: Annotated[str | None, typer.Option(help=COLUMN_HELP)] = None
    label_column: Annotated[str, typer.Option(help="Column to keep as label, if there is one.")] = "label"
    labels: Annotated[Literal["spans"] | None, typer.Option(help=LABELS_HELP)] = None
    pair_column: Annotated[str, typer.Option(help="Column to keep as pair, if there is one.")] = "pair"
    on_conflict: Annotated[Literal["first", "drop", "fail"], typer.Option(help=CONFLICT_HELP)] = "first"
    format: Annotated[Format | None, typer.Option(help="Format of all sources, whatever their endings.")] = (
        None
    )
    split: Annotated[Literal["sentences"] | None, typer.Option(help="Split running text into sentences.")] = (
        None
    )
    language: Annotated[str, typer.Option(help="The language for --split, such as en, de or zh.")] = "en"
    max_document: Annotated[int, Number(min=1, help=DOCUMENT_HELP)] = MAX_DOCUMENT
    min_words: Annotated[int | None, Number(min=0, help=MIN_WORDS_HELP)] = None
    max_words: Annotated[int | None, Number(min=1, help="Drop sentences of more words.")] = None
    out: Annotated[Path, Output(help="Folder of the sentences.")] = SENTENCES
    limit: LimitOption = None
    shard_size: Annotated[int, OutputNumber(min=1, help="Rows in a shard.")] = 50_000

    @property
    def words(self) -> tuple[int, int | None] | None:
        """The fewest and the most words of a sentence (None: any number); None if neither was given."""
        return (
            None
            if self.min_words is None and self.max_words is None
            else (self.min_words or 0, self.max_words)
        )


@dataclass(frozen=True)
class PairsOptions(OutputOptions):
    """The options of `build-pairs`."""

    sources: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]...", help=NLI_HELP)] = None
    pairs: Annotated[Policy | None, typer.Option(help=PAIRS_HELP)] = None
    view: Annotated[list[str] | None, typer.Option(help=VIEW_HELP)] = None
    filter: Annotated[list[str] | None, typer.Option(help=FILTER_HELP)] = None
    default_filters: Annotated[bool, typer.Option(help=DEFAULT_FILTERS_HELP)] = True
    alternatives: Annotated[bool | None, typer.Option(help=ALTERNATIVES_HELP)] = None
    strict: Annotated[bool, typer.Option("--strict", help=STRICT_HELP)] = False
    rejects: Annotated[Path | None, Output(help=REJECTS_HELP)] = None
    negatives: Annotated[bool, typer.Option("--negatives", help=NEGATIVES_HELP)] = False
    negative_view: Annotated[str | None, typer.Option(help=NEGATIVE_VIEW_HELP)] = None
    columns: Annotated[str | None, typer.Option(help=COLUMNS_HELP)] = None
    labels: Annotated[str | None, typer.Option(help=MEANINGS_HELP)] = None
    distance: Annotated[int, Number(min=1, help="For neighbours: how many sentences away, at most.")] = 1
    per_sentence: Annotated[int, Number(min=1, help=PER_SENTENCE_HELP)] = 4
    out: Annotated[Path | None, Output(help=PAIRS_OUT_HELP)] = None
    shards: Annotated[
        int | None, OutputNumber(min=1, help="Write a folder of N shards, for large outputs.")
    ] = None
    seed: Annotated[int | None, RunningNumber(help=PAIRS_SEED_HELP)] = None
    limit: Annotated[int | None, RunningNumber(min=1, help="Only the first N sentences, or NLI rows.")] = None
    workers: WorkersOption = 1
    device: DeviceOption = "auto"
    batch_tokens: BatchTokensOption = None

    @property
    def target(self) -> Path:
        """The file or, with shards, the folder to write."""
        return self.out or Path("data/pairs" if self.shards else "data/pairs.arrow")

    @property
    def view_options(self) -> ViewOptions:
        """How missing views are made and filters are run."""
        return ViewOptions(workers=self.workers, device=self.device, batch_tokens=self.batch_tokens)


def with_options(function: Callable[[Any], None]) -> Callable[..., None]:
    """A command for typer that calls `function(options)`, with an option for every field of the options' class."""
    options_class = get_type_hints(function)["options"]

    @wraps(function)
    def command(**values: Any) -> None:  # noqa: ANN401 - whatever the options hold
        function(options_class(**values))

    command.__signature__ = inspect.signature(options_class)  # type: ignore[attr-defined]
    return command
