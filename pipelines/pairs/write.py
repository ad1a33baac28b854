"""Pairs and rejects on disk: one file or a folder of shards, with recipe, card and report."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from augment.errors import InputError, TwinviewsError
from augment.record import FileRecord, Record
from pipelines.base.console import note
from pipelines.base.files import atomic_write, locked_file, locked_folder, sha256_of
from pipelines.base.recipe import recipe_text
from pipelines.base.record import beside, is_unaltered, output_record
from pipelines.inspection.opened import open_path
from pipelines.inspection.report import write_report
from pipelines.options import PairsOptions, ReportOptions
from pipelines.pairs.candidates import Candidates, PairCounts, judged_blocks, pairs_batch, pairs_schema
from pipelines.pairs.filter import Filter
from pipelines.pairs.pair import Candidate
from pipelines.storage.card import dataset_card
from pipelines.storage.dataset import (
    REJECTS_FILE,
    REPORT_FILE,
    Plan,
    begin,
    claim_dataset,
    clear_dataset,
    finish,
    remove_leftovers,
)
from pipelines.storage.pair_files import REASON
from pipelines.storage.shards import BATCH_ROWS, commit_shards, read_table, shard_name

RECIPE_OPTIONS = {
    "sources",
    "negatives",
    "negative_view",
    "columns",
    "labels",
    "seed",
    "default_filters",
    "shards",
}
"""Options that are in a recipe as they were given."""


class PairsJob(NamedTuple):
    """What to write and, by the options, where; `made_by` tells the card how each side or source was made."""

    candidates: Candidates
    plan: Plan
    made_by: Mapping[str, str]
    filters: Sequence[Filter]
    options: PairsOptions

    @property
    def schema(self) -> pa.Schema:
        """The columns of the pairs."""
        return pairs_schema(self.candidates, self.filters)

    def recipe(self) -> str:
        """The resolved recipe."""
        plan = self.plan
        given = self.options.model_dump(include=RECIPE_OPTIONS, exclude_defaults=True)
        resolved = {
            "pairs": plan.name,
            "view": self.options.view or plan.params.get("view") or None,
            "per_sentence": plan.params.get("per_sentence"),
            "filter": [filter.text() for filter in self.filters] or None,
            "limit": plan.limit,
        }
        return recipe_text("build-pairs", given, **resolved)

    def card(self, counts: Mapping[str, Any]) -> str:
        """The card."""
        columns = ", ".join(self.schema.names)
        return dataset_card(
            self.plan, counts, made_by=self.made_by, unit=self.candidates.unit, columns=columns
        )


def save_pairs(job: PairsJob) -> tuple[Mapping[str, Any], bool]:
    """Write pairs with recipe, card and report; returns the counts, and whether they were made now.

    Raises InputError if outputs would replace another recipe's, a foreign file or an input, TwinviewsError for
    no pair.
    """
    options, out, overwrite = job.options, job.options.target, job.options.overwrite
    if out.resolve() in [Path(item.name).resolve() for item in job.plan.inputs]:
        raise InputError(f"--out {out} is what the pairs are made from: choose another --out")
    with locked_folder(out) if options.shards else locked_file(out):
        status = claim_dataset(out, job.plan, overwrite=overwrite)
        if options.shards:
            remove_leftovers(out)
        record = None if status == "replaced" else output_record(out)
        is_done = record is not None and status == "finished" and not overwrite
        has_rejects = not options.rejects or (record and beside(out, REJECTS_FILE).name in record.files)
        if record is not None and is_done and has_rejects:
            counts, is_new = record.counts, False
        else:
            counts, is_new = _write(job), True
        report = beside(out, REPORT_FILE)
        try:
            write_report(report, open_path(out), ReportOptions(path=out, overwrite=is_unaltered(report)))
        except (TwinviewsError, OSError) as error:  # the pairs are made
            note(f"no report was written: {error}")
    return counts, is_new


def _write(job: PairsJob) -> Mapping[str, Any]:
    """Write pairs and rejects in place of earlier ones, and return the counts."""
    options, out, plan = job.options, job.options.target, job.plan
    rejects_path, rejects = beside(out, REJECTS_FILE), dict[str, FileRecord]()
    # All pairs go to the first shard until we know how many a shard gets.
    first = out / shard_name(0) if options.shards else out
    with ExitStack() as files:  # which appear when the block ends
        kept, dropped = PairStream(files.enter_context(atomic_write(first)), job.schema), None
        if options.rejects:
            schema = job.schema.append(pa.field(REASON, pa.string()))
            dropped = PairStream(files.enter_context(atomic_write(rejects_path)), schema)
        counts = _stream(job, kept, dropped)
        if dropped is not None:
            rejects[rejects_path.name] = FileRecord(sha256=dropped.finish().sha256)
        shards = [Record(files={out.name: kept.finish()})]
        texts = {"recipe": job.recipe(), "card": job.card(counts)}
        if options.shards is None:
            finish(out, plan, shards, counts, others=rejects, **texts)
        else:
            clear_dataset(out)
            begin(out, plan)
    if options.shards is not None:
        table = read_table(first)
        size = -(-len(table) // options.shards)
        starts = enumerate(range(0, len(table), size))
        shards = [commit_shards(out, {index: table.slice(start, size)})[0] for index, start in starts]
        finish(out, plan, shards, counts, others=rejects, **texts)
    return counts


def _stream(job: PairsJob, kept: "PairStream", dropped: "PairStream | None") -> dict[str, Any]:
    """Judge the candidates, and put them into these streams; returns their counts."""
    options, counts = job.options, PairCounts(job.candidates)
    for block in judged_blocks(job.candidates, job.filters, options.view_options.runtime, options.workers):
        counts.add(block)
        kept.write([candidate for candidate in block if candidate.reason is None])
        if dropped is not None:
            dropped.write([candidate for candidate in block if candidate.reason is not None])
    return counts.as_dict()


class PairStream:
    """Pairs into an IPC stream in full batches, however few come at once.

    System errors name the stream's file.
    """

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self.path, self._stream, self._schema = Path(stream.name), stream, schema
        self._pending, self._rows = list[Candidate](), 0
        self._writer = pa.ipc.new_stream(pa.PythonFile(stream, "w"), schema)

    def write(self, pairs: Sequence[Candidate], *, is_last: bool = False) -> None:
        """Write the batches that these pairs fill; the last time, the rest and the end of the stream."""
        self._pending += pairs
        self._rows += len(pairs)
        full = len(self._pending) if is_last else len(self._pending) // BATCH_ROWS * BATCH_ROWS
        try:
            for start in range(0, full, BATCH_ROWS):
                batch = self._pending[start : start + BATCH_ROWS]
                self._writer.write_batch(pairs_batch(batch, self._schema))
            if is_last:
                self._writer.close()
                self._stream.flush()
        except OSError as error:  # two files are open: say which one cannot be written
            error.filename = str(self.path)
            raise
        del self._pending[:full]

    def finish(self) -> FileRecord:
        """End the stream; returns its hash and rows."""
        self.write((), is_last=True)
        return FileRecord(sha256=sha256_of(self.path), rows=self._rows)
