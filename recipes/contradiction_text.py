"""Print the lines of a text that occur in no set by which a training against contradictions is judged.

    python recipes/contradiction_text.py TEXT DATA > sentences.txt

DATA holds SICK, SNLI, counterfactual SNLI, Breaking NLI and STS-B (data_cards/). Lines are compared as `train evaluate`
compares them with training text: letters and digits only, without case.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from trainers.data.tables import normalised
from trainers.files import filled_lines

FOLDERS = ("sts/SICK", "nli/SNLI", "nli/counterfactual-snli", "nli/breaking_nli")
STSB = ("sts-dev.csv", "sts-test.csv")


def cells(path: Path) -> Iterator[str]:
    """Every cell of every line, whatever the file's layout."""
    for _, line in filled_lines(path):
        yield from map(str, json.loads(line).values()) if ".jsonl" in path.suffixes else line.split("\t")


def main(text: str, data: str) -> None:
    """Print the lines, and to stderr how many were left out."""
    paths = [path for folder in FOLDERS for path in sorted(Path(data, folder).rglob("*")) if path.is_file()]
    paths += [Path(data, "sts", "stsbenchmark", name) for name in STSB]
    judged = {normalised(cell) for path in paths for cell in cells(path)}
    lines = list(dict.fromkeys(Path(text).read_text(encoding="utf-8").splitlines()))
    clean = [line for line in lines if normalised(line) not in judged]
    print(*clean, sep="\n")
    print(f"{len(lines)} lines, {len(lines) - len(clean)} of them in a judged set", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
