"""Check what a wheel holds: everything that runs offline, nothing that belongs to developers.

    python .ci/check_wheel.py [WHEEL]

Without a WHEEL one is built.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REQUIRED = (
    "augment/py.typed",
    "augment/starter/encoder/README.md",
    "augment/starter/encoder/model.safetensors",
    "augment/starter/english/forms.txt",
    "augment/starter/tagger/README.md",
    "augment/starter/tagger/weights.json.gz",
    "augment/starter/translation/en-xx/README.md",
    "augment/starter/translation/en-xx/model.safetensors",
    "augment/starter/translation/en-xx/source.spm",
    "augment/starter/translation/xx-en/README.md",
    "augment/starter/translation/xx-en/model.safetensors",
    "pipelines/py.typed",
    "pipelines/sample/sentences.txt",
    "pipelines/inspection/templates/report.html",
    "pipelines/storage/templates/card.md",
    "trainers/scores/sample/pairs.tsv",
    "trainers/scores/suites/sts.yaml",
    "trainers/scores/pages/templates/report.html",
    "trainers/py.typed",
)
ALLOWED_TOPS = {"augment", "data_cards", "pipelines", "trainers"}
STARTER_LIMIT = 80_000_000
WHEEL_LIMIT = 100_000_000
"""PyPI takes no greater file without being asked."""
SCRIPTS = {"augment = pipelines.__main__:main", "train = trainers.__main__:main"}


def problems(wheel: Path) -> list[str]:
    """Return what is wrong with the wheel, one line each."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {item.filename: item.file_size for item in archive.infolist()}
        scripts = next(name for name in sizes if name.endswith("entry_points.txt"))
        listed = set(archive.read(scripts).decode().splitlines())
    found = [f"lacks {name}" for name in REQUIRED if not sizes.get(name) and not name.endswith("py.typed")]
    found += [f"lacks {name}" for name in REQUIRED if name not in sizes]
    tops = {name.split("/")[0] for name in sizes}
    found += [f"holds {top}/" for top in sorted(tops - ALLOWED_TOPS) if not top.endswith(".dist-info")]
    found += [f"holds {name}" for name in sizes if name.endswith((".pyc", ".bin", ".pkl", ".pt"))]
    starter = sum(size for name, size in sizes.items() if name.startswith("augment/starter/"))
    if starter > STARTER_LIMIT:
        found.append(f"holds starter models of {starter:,} bytes, more than {STARTER_LIMIT:,}")
    return found + [f"lacks the script {script!r}" for script in SCRIPTS - listed]


def main() -> int:
    """Build the wheel if there is none, check, report."""
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:]:
            wheel = Path(sys.argv[1])
        else:
            build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, "."]
            subprocess.run(build, check=True)
            wheel = next(Path(folder).glob("twinviews-*.whl"))
        found = problems(wheel)
        size = wheel.stat().st_size
    if size > WHEEL_LIMIT:
        found.append(f"has {size:,} bytes, more than {WHEEL_LIMIT:,}")
    for problem in found:
        sys.stderr.write(f"the wheel {problem}\n")
    sys.stdout.write(f"wheel of {size / 1e6:.1f} MB: {'not ' if found else ''}complete\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
