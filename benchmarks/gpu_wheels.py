"""Fetch the wheels that a GPU machine without a network lacks, into build/gpu-wheels: less than 25 MB.

    python benchmarks/gpu_wheels.py [--python-version 3.12]

They are what this project needs beyond `PRESENT`, in the versions of constraints.txt, for Linux on x86-64 and the
Python of that machine. `LEFT_OUT` are CTranslate2, as transformers translates on a GPU, and wordfreq, whose lists of
all languages are 57 MB and which `gpu.py` does not need. A wheel with this project's metadata alone is added, since its
code is run from the checkout.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parent.parent
WHEELS = ROOT / "build" / "gpu-wheels"
MOST = 25_000_000  # bytes
PRESENT = frozenset(
    (
        "accelerate",
        "click",
        "filelock",
        "fsspec",
        "huggingface-hub",
        "jinja2",
        "joblib",
        "lxml",
        "markdown-it-py",
        "numpy",
        "packaging",
        "pandas",
        "pyarrow",
        "pyyaml",
        "regex",
        "requests",
        "rich",
        "sacrebleu",
        "safetensors",
        "scikit-learn",
        "scipy",
        "sentence-transformers",
        "sentencepiece",
        "threadpoolctl",
        "tokenizers",
        "torch",
        "tqdm",
        "transformers",
        "typer",
        "urllib3",
        "xxhash",
    )
)
"""What images with PyTorch and sentence-transformers have, with all that these need."""
LEFT_OUT = frozenset(("ctranslate2", "wordfreq"))
GLIBC = (17, 24, 26, 27, 28, 31, 34, 35)
"""Minor versions of the C library whose wheels run there."""


def main() -> None:
    """Fetch the wheels and print their size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python-version", default="3.12", help="of that machine")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = needed(project["dependencies"])
    pins = (line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split())
    pinned = {canonicalize_name(name): number for name, number in pins}
    for path in WHEELS.glob("*.whl"):  # two versions of one would stop the installation
        path.unlink()
    platforms = ["manylinux2014_x86_64", *(f"manylinux_2_{minor}_x86_64" for minor in GLIBC)]
    command = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(WHEELS)]
    command += ["--implementation", "cp", "--python-version", options.python_version]
    command += [word for platform in platforms for word in ("--platform", platform)]
    command += [f"{name}=={pinned.get(name) or version(name)}" for name in sorted(names)]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    write_metadata(project)
    size = sum(path.stat().st_size for path in WHEELS.glob("*.whl"))
    print(f"{WHEELS.relative_to(ROOT)}: {len(names) + 1} wheels, {size / 1e6:.1f} MB")
    if size > MOST:
        sys.exit(f"that is more than {MOST / 1e6:.0f} MB: see what has grown")


def needed(dependencies: Iterable[str]) -> set[NormalizedName]:
    """The packages that are neither present nor left out, by the metadata of those that are installed here."""
    names, waiting = set[NormalizedName](), [*dependencies]
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name not in names | PRESENT | LEFT_OUT and (
            not requirement.marker or requirement.marker.evaluate()
        ):
            names.add(name)
            waiting += requires(name) or ()
    return names


def write_metadata(project: dict[str, Any]) -> None:
    """Write a wheel that has no code, only the project's name and version, which the code asks for."""
    name = f"{project['name']}-{project['version']}"
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: gpu_wheels\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name}.dist-info/{file},,\n" for file in (*texts, "RECORD"))
    with zipfile.ZipFile(WHEELS / f"{name}-py3-none-any.whl", "w") as wheel:
        for file, text in {**texts, "RECORD": record}.items():
            wheel.writestr(f"{name}.dist-info/{file}", text)


if __name__ == "__main__":
    main()
