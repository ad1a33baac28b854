"""What is in a dataset: counts, where it comes from, and some rows with their changes marked word by word."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from pipelines.console import show, show_json, table
from pipelines.folder import open_dataset
from pipelines.pairing import beside
from pipelines.pairs import check_stream
from pipelines.plan import read_plan
from pipelines.shards import read_table

WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Inspected:
    """A dataset's kind, what is known of it, what was counted, and sample rows."""

    kind: str
    facts: Mapping[str, Any]
    counts: Mapping[str, Any]
    sample: Sequence[Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {"kind": self.kind, **self.facts, "counts": dict(self.counts), "sample": list(self.sample)}


def inspect_path(path: Path, rows: int) -> Inspected:
    """Look into sentences, a view dataset or pairs; `rows` sample rows, evenly spread.

    Raises:
        InputError: Nothing of ours is there, or it is unfinished or damaged.
    """
    if path.is_file() or (path.is_dir() and read_plan(path) is None and any(path.glob("*.arrow"))):
        return _inspect_pairs_file(path, rows)
    dataset = open_dataset(path)
    plan = dataset.plan
    facts: dict[str, Any] = {
        "path": str(path),
        "name": plan.name,
        "rows": dataset.rows,
        "shards": len(dataset.receipts),
    }
    if plan.signature is not None:
        facts |= {"signature": plan.signature, "seed": plan.seed}
    facts |= {"digest": dataset.digest, "inputs": [item.model_dump() for item in plan.inputs]}
    files = [path / receipt.file for receipt in dataset.receipts]
    return Inspected(plan.kind, facts, dataset.counts, _sample(files, rows))


def _inspect_pairs_file(path: Path, rows: int) -> Inspected:
    files = [path] if path.is_file() else sorted(path.glob("*.arrow"))
    for file in files:
        check_stream(file)
    total = sum(read_table(file).num_rows for file in files)
    facts: dict[str, Any] = {"path": str(path), "rows": total}
    counts: Mapping[str, Any] = {"pairs": total}
    recipe = beside(path, "recipe.json")
    if recipe.is_file():
        saved = json.loads(recipe.read_text(encoding="utf-8"))
        made = saved.get("made", {})
        facts |= {"name": saved.get("pairs"), "sha256": made.get("sha256")}
        facts["inputs"] = made.get("plan", {}).get("inputs", [])
        counts = made.get("counts", counts)
    return Inspected("pairs", facts, counts, _sample(files, rows))


def _sample(files: Sequence[Path], rows: int) -> list[dict[str, Any]]:
    """Rows spread evenly over all shards."""
    tables = [read_table(file) for file in files]
    total = sum(part.num_rows for part in tables)
    wanted = {index * total // rows for index in range(min(rows, total))} if rows else set()
    sample: list[dict[str, Any]] = []
    first = 0
    for part in tables:
        inside = sorted(index - first for index in wanted if first <= index < first + part.num_rows)
        sample += part.take(inside).to_pylist()
        first += part.num_rows
    return sample


def word_diff(old: str, new: str) -> str:
    """`new` against `old`, word by word, as wdiff writes it: `a [-big-]{+large+} dog`."""
    before, after = WORDS.findall(old), WORDS.findall(new)
    parts = []
    for what, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = "".join(before[i:j]), "".join(after[k:m])
        if what == "equal":
            parts.append(gone)
        else:
            parts.append((f"[-{gone}-]" if gone else "") + (f"{{+{come}+}}" if come else ""))
    return "".join(parts)


def show_inspected(seen: Inspected, *, as_json: bool) -> None:
    """Print what was seen."""
    if as_json:
        show_json(seen.as_dict())
        return
    facts = [(key, value) for key, value in seen.facts.items() if key != "inputs"]
    facts += [("made from", f"{item['name']} (sha256 {item['sha256'][:12]}…)") for item in seen.facts.get("inputs", [])]
    table((seen.kind, ""), facts)
    table(("counted", "rows"), _flat(seen.counts))
    for row in seen.sample:
        show("")
        for line in _described(seen.kind, row):
            show(line)


def _flat(counts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    lines: list[tuple[str, Any]] = []
    for key, value in counts.items():
        if isinstance(value, Mapping):
            lines += [(f"{key}: {name}", number) for name, number in value.items()]
        else:
            lines.append((key, value))
    return lines


def _described(kind: str, row: Mapping[str, Any]) -> Iterator[str]:
    text = row["text"]
    if kind == "view":
        reason = f" ({row['reason']})" if row["reason"] else ""
        yield f"{row['id']} {row['status']}{reason}"
        yield f"  text   {text}"
        if row["pivot"] is not None:
            yield f"  pivot  {row['pivot']}"
        if row["view"] is not None:
            yield f"  view   {word_diff(text, row['view'])}"
    elif kind == "pairs":
        yield row["id"]
        yield f"  text   {text}"
        for side in ("view_a", "view_b"):
            yield f"  {row[side + '_name']}: {word_diff(text, row[side])}"
    else:
        yield f"{row['id']} {text}"
        for key in ("label", "pair"):
            if row.get(key) is not None:
                yield f"  {key}  {row[key]}"
