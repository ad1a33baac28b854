"""Queries and documents from Debian's package descriptions, for `recipes/retrieval.yaml`.

    python recipes/debian.py --out debian [--documents 60000] [--held-out 0.1]

Fetches Debian's lists of packages into the folder, without root, by the system's apt-get. The short description is the
query, the long one the document. Writes `train.csv` and `held-out.csv` (query, document; a share of the source
packages, so that `libfoo1` and `libfoo-dev` are on the same side) and `documents.csv` (id, document: those of both, to
search in). Descriptions that several packages share are taken once, and those too short to search for are left out.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import xxhash

HELPER = "/usr/lib/apt/apt-helper"  # reads lists in whatever way they are compressed
FEWEST_WORDS = 12  # of a long description


def fetch(folder: Path) -> list[Path]:
    """Let apt-get fetch its lists into `folder`; returns them."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = {
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "en",
    }
    command = [
        "apt-get",
        "-qq",
        *(word for key, path in options.items() for word in ("-o", f"{key}={path}")),
        "update",
    ]
    subprocess.run(command, check=True)
    return sorted((folder / "lists").glob("*_main_*"))


def stanzas(path: Path) -> Iterator[dict[str, str]]:
    """Yield the fields of each package in a list."""
    text = subprocess.run([HELPER, "cat-file", str(path)], check=True, capture_output=True, text=True).stdout
    for stanza in text.split("\n\n"):
        fields = re.split(r"^([A-Za-z0-9-]+): ?", stanza, flags=re.MULTILINE)
        yield dict(zip(fields[1::2], fields[2::2], strict=True))


def descriptions(lists: list[Path]) -> dict[str, tuple[str, str]]:
    """Return source package and long description by short description, each of both once."""
    sources = {}
    for path in lists:
        if "Packages" in path.name:
            for fields in stanzas(path):
                if "Package" in fields:
                    sources[fields["Package"].strip()] = fields.get("Source", fields["Package"]).split()[0]
    pairs: dict[str, tuple[str, str]] = {}
    seen: set[str] = set()
    for path in lists:
        for fields in stanzas(path) if "Translation-en" in path.name else ():
            short, _, rest = fields.get("Description-en", "").partition("\n")
            long = " ".join(line.strip() for line in rest.split("\n") if line.strip() not in ("", "."))
            package = fields.get("Package", "").strip()
            if short in pairs or long in seen or package not in sources or len(long.split()) < FEWEST_WORDS:
                continue
            pairs[short] = (sources[package], long)
            seen.add(long)
    return pairs


def main() -> None:
    """Write the three tables, and print their rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=60_000, help="at most")
    parser.add_argument("--held-out", type=float, default=0.1, help="share of the source packages")
    options = parser.parse_args()
    pairs = descriptions(fetch(options.out.resolve()))
    # By their hashes: the same packages on the same side in every release.
    order = sorted(pairs, key=lambda short: xxhash.xxh64_intdigest(short.encode()))[: options.documents]
    tables: dict[str, list[tuple[str, str]]] = {"train": [], "held-out": []}
    for short in order:
        source, long = pairs[short]
        side = "held-out" if xxhash.xxh64_intdigest(source.encode()) / 2**64 < options.held_out else "train"
        tables[side].append((short, long))
    documents = [(str(number), pairs[short][1]) for number, short in enumerate(order)]
    for name, rows in {**tables, "documents": documents}.items():
        with (options.out / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(("id" if name == "documents" else "query", "document"))
            writer.writerows(rows)
        print(f"{options.out / name}.csv: {len(rows):,} rows")


if __name__ == "__main__":
    main()
