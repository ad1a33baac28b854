"""Views to pairs: which rows make one, what is dropped and why, and how they are written."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from augment.errors import InputError, TwinviewsError
from pipelines.card import pairs_card
from pipelines.files import locked, remove_temporaries, sha256_of, whole_file, write_whole
from pipelines.folder import CARD_FILE, RECIPE_FILE, Dataset, claim, finalise, finished_dataset
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import PLAN_FILE, Input, Plan
from pipelines.recipe import recipe_text
from pipelines.shards import BATCH_ROWS, Receipt, commit_shard, iterate_tables

Policy: TypeAlias = Literal["bsl", "original", "self"]
ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the pairs: a view dataset, or with None the sentence itself."""

    name: str
    dataset: Dataset | None = None

    @property
    def signature(self) -> str:
        """What made it."""
        return self.dataset.plan.signature or self.name if self.dataset else "the sentence itself"


@dataclass(frozen=True, slots=True)
class Pairing:
    """What is paired: sentences (the first `limit`), two sides, and whether identical pairs are dropped."""

    policy: Policy
    sentences: Dataset
    sides: tuple[Side, Side]
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    drop_identical: bool = False
    shards: int | None = None

    def plan(self) -> Plan:
        """Everything that decides the pairs."""
        views = [side for side in self.sides if side.dataset is not None]
        inputs = [(self.sentences.path, self.sentences), *((side.name, side.dataset) for side in views)]
        return Plan(
            kind="pairs",
            name=self.policy,
            params={"drop_identical": self.drop_identical, "shards": self.shards},
            limit=self.limit,
            shard_size=0,
            inputs=tuple(
                Input(name=str(name), sha256=dataset.digest, rows=dataset.rows) for name, dataset in inputs if dataset
            ),
        )

    def recipe(self, **made: Any) -> str:  # noqa: ANN401 - JSON values
        """The resolved recipe; what is under `made` is for the reader and for the next run."""
        options = {**self.options, "drop_identical": self.drop_identical, "limit": self.limit, "shards": self.shards}
        return recipe_text("build-pairs", options, **({"made": made} if made else {}))


@dataclass(slots=True)
class PairCounts:
    """Sentences seen, pairs kept, rows dropped by reason, and kept ones that a reader should know of."""

    sentences: int = 0
    pairs: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON."""
        return {
            "sentences": self.sentences,
            "pairs": self.pairs,
            "dropped": dict(sorted(self.dropped.items())),
            "kept": dict(sorted(self.kept.items())),
        }


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs on disk: where, what was counted, and whether they were made now."""

    path: Path
    counts: Mapping[str, Any]
    made: bool


def pair_rows(pairing: Pairing, counts: PairCounts) -> Iterator[dict[str, str | None]]:
    """The pairs, in the order of the sentences.

    A sentence is dropped, and counted with its reason, when a view of it failed, was rejected or was not made. A
    view that equals the sentence is kept and counted.

    Raises:
        InputError: A view was not made from these sentences.
    """
    has_label = "label" in _columns(pairing.sentences)
    names = [side.name for side in pairing.sides]
    views = [_view_rows(side) for side in pairing.sides]
    sentences = _rows(pairing.sentences, ("id", "text", *(("label",) if has_label else ())))
    for identity, text, *label in islice(sentences, pairing.limit):
        counts.sentences += 1
        found = [_pick(rows, name, identity, text) for rows, name in zip(views, names, strict=True)]
        lost = next((reason for view, reason, _ in found if view is None), None)
        if lost is None and found[0][0] == found[1][0]:
            if pairing.drop_identical:
                lost = "identical pair"
            else:
                counts.kept["the two views are identical"] += 1
        if lost is not None:
            counts.dropped[lost] += 1
            continue
        counts.pairs += 1
        for name, (_, _, unchanged) in zip(names, found, strict=True):
            if unchanged:
                counts.kept[f"{name} left it unchanged"] += 1
        row = dict(zip(PAIR_COLUMNS, (identity, text, found[0][0], found[1][0], *names), strict=True))
        yield {**row, "label": label[0]} if has_label else row


ViewRow: TypeAlias = tuple[str, str | None, str, str | None]


def _view_rows(side: Side) -> Iterator[ViewRow] | None:
    return None if side.dataset is None else _rows(side.dataset, ("id", "view", "status", "reason"))


def _rows(dataset: Dataset, columns: Sequence[str]) -> Iterator[Any]:
    for table in iterate_tables(dataset.path, dataset.receipts):
        yield from zip(*(table.column(name).to_pylist() for name in columns), strict=True)


def _pick(rows: Iterator[ViewRow] | None, name: str, identity: str, text: str) -> tuple[str | None, str, bool]:
    """The view of the sentence (None if there is none), why there is none, and whether it equals the sentence."""
    if rows is None:
        return text, "", False
    row = next(rows, None)
    if row is None:
        return None, f"{name} was not made for it", False
    if row[0] != identity:
        raise InputError(f"{name} was made from other sentences (row {row[0]} where {identity} is): make it again")
    _, view, status, reason = row
    return view, f"{name} {status}" + (f": {reason}" if reason else ""), status == "unchanged"


def _columns(dataset: Dataset) -> list[str]:
    table = next(iterate_tables(dataset.path, dataset.receipts[:1]))
    return list(table.schema.names)


def write_pairs(pairing: Pairing, out: Path, *, overwrite: bool = False) -> Pairs:
    """Write pairs: one IPC stream file with recipe and card beside it, or with `shards` a dataset folder.

    Raises:
        InputError: `out` belongs to another recipe or is not ours.
        TwinviewsError: No pair is left.
    """
    with locked(out):
        return _write_folder(pairing, out, overwrite) if pairing.shards else _write_file(pairing, out, overwrite)


def beside(out: Path, ending: str) -> Path:
    """The file beside `out` with another ending: `data/pairs.arrow`, `card.md` -> `data/pairs.card.md`."""
    return out.with_name(f"{out.name.removesuffix('.arrow')}.{ending}")


def _write_file(pairing: Pairing, out: Path, overwrite: bool) -> Pairs:
    import pyarrow as pa

    plan = pairing.plan()
    remove_temporaries(out.parent, out.name)
    counts = _standing_file(out, plan, overwrite)
    if counts is not None:
        return Pairs(out, counts, made=False)
    tally = PairCounts()
    rows = pair_rows(pairing, tally)
    schema = _schema(pairing)
    with whole_file(out) as stream:
        with pa.ipc.new_stream(pa.PythonFile(stream, "w"), schema) as writer:
            while part := list(islice(rows, BATCH_ROWS)):
                writer.write_batch(pa.RecordBatch.from_pylist(part, schema=schema))
        stream.flush()
        counts = _checked(tally)
        made = {"plan": plan.model_dump(mode="json"), "counts": counts, "sha256": sha256_of(Path(stream.name))}
        # Recipe and card first: pairs whose recipe is missing would belong to nobody.
        write_whole(beside(out, "card.md"), _card(pairing, plan, counts))
        write_whole(beside(out, "recipe.json"), pairing.recipe(**made))
    return Pairs(out, counts, made=True)


def _standing_file(out: Path, plan: Plan, overwrite: bool) -> Mapping[str, Any] | None:
    """The counts of the pairs that stand at `out` under this plan, None if they are to be written."""
    if out.is_dir():
        raise InputError(f"{out} is a folder, a file is to be written: choose another --out, or give --shards")
    if not out.exists():
        return None
    recipe = beside(out, "recipe.json")
    try:
        made = json.loads(recipe.read_text(encoding="utf-8"))["made"]
        standing, counts, sha256 = Plan.model_validate(made["plan"]), made["counts"], made["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{out} has no recipe of ours beside it ({recipe.name}): choose another --out") from None
    if overwrite:
        return None
    difference = standing.difference(plan)
    if difference is not None:
        raise InputError(f"{out} belongs to another recipe, {difference}: choose another --out, or --overwrite it")
    intact: Mapping[str, Any] | None = counts if sha256_of(out) == sha256 else None
    return intact


def _write_folder(pairing: Pairing, out: Path, overwrite: bool) -> Pairs:
    import pyarrow as pa

    plan = pairing.plan()
    standing = claim(out, plan, overwrite=overwrite)
    if standing is not None and (finished := finished_dataset(out, standing)) is not None:
        return Pairs(out, finished.counts, made=False)
    tally = PairCounts()
    pairs = sum(1 for _ in pair_rows(pairing, tally))
    counts = _checked(tally)
    out.mkdir(exist_ok=True)
    remove_temporaries(out)
    write_whole(out / PLAN_FILE, plan.to_json())
    rows = pair_rows(pairing, PairCounts())
    schema = _schema(pairing)
    size = -(-pairs // (pairing.shards or 1))
    receipts: list[Receipt] = []
    while part := list(islice(rows, size)):
        receipts.append(commit_shard(out, len(receipts), pa.Table.from_pylist(part, schema=schema)))
    texts = {RECIPE_FILE: pairing.recipe(), CARD_FILE: _card(pairing, plan, counts)}
    return Pairs(out, finalise(out, plan, receipts, schema, texts, counts).counts, made=True)


def _checked(tally: PairCounts) -> dict[str, Any]:
    if not tally.pairs:
        reasons = ", ".join(f"{reason}: {rows}" for reason, rows in tally.dropped.most_common(3))
        raise TwinviewsError(f"no pair is left of {tally.sentences} sentences ({reasons}): see the views' reasons")
    return tally.as_dict()


def _card(pairing: Pairing, plan: Plan, counts: Mapping[str, Any]) -> str:
    return pairs_card(plan, counts, {side.name: side.signature for side in pairing.sides})


def _schema(pairing: Pairing) -> Any:  # noqa: ANN401 - a pyarrow schema
    import pyarrow as pa

    label = ("label",) if "label" in _columns(pairing.sentences) else ()
    return pa.schema([(name, pa.string()) for name in (*PAIR_COLUMNS, *label)])
