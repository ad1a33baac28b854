"""Make the pictures of README and docs from a real run, in docs/images/.

    python recipes/pictures.py --out docs/images

Runs the first steps on the bundled sentences in a scratch folder: a terminal with views and their changes (SVG), and in
a headless Chromium the page of `augment build-pairs`, light and dark, wide and 400 pixels narrow, and that of `train
report` (PNG).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 100
COMMANDS = {"augment synonym --seed 6": None, "augment inspect data/views/synonym --rows 4": 16}
"""What the picture of a terminal shows, and how many of the last lines of it, where that is not all."""
PAIRS, TRAINING = "data/pairs.report.html", "runs/bsl/report.html"
SHOTS = (
    ("report", PAIRS, 1200, 900, ""),
    ("report-dark", PAIRS, 1200, 900, "--force-dark-mode"),
    ("report-narrow", PAIRS, 400, 900, ""),
    ("training", TRAINING, 1200, 1400, ""),
)
"""Name, page, width, height and further option of each screenshot."""


def run(command: str, folder: Path) -> list[str]:
    """Run a command line in `folder` in a terminal, with our programs on its path, and return the lines it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {
        **os.environ,
        "PATH": path,
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "LINES": "50",
    }
    typed = ["script", "--quiet", "--return", "--command", f"{command} 2>/dev/null", "/dev/null"]
    done = subprocess.run(typed, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.replace("\r", "").rstrip("\n").split("\n")


def terminal(commands: Mapping[str, Sequence[str]], path: Path) -> None:
    """Write commands and their output, with ANSI colours, as an SVG of a terminal."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    for command, output in commands.items():
        console.print(f"[bold green]$[/] [bold]{command}[/]", highlight=False)
        console.print(Text.from_ansi("\n".join(output)), "")
    console.save_svg(str(path), title="twinviews")


def screenshots(folder: Path, out: Path) -> None:
    """Photograph the pages in headless Chromium."""
    browser = next((found for name in ("chromium", "google-chrome") if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit("no Chromium: on Debian, apt-get install chromium")
    for name, page, width, height, option in SHOTS:
        options = [
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
            option,
        ]
        shot = f"--screenshot={out / f'{name}.png'}"
        address = (folder / page).as_uri()
        subprocess.run([browser, *filter(None, options), shot, address], check=True, capture_output=True)


def main() -> None:
    """Run the commands and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        printed = {command: run(command, folder) for command in COMMANDS}
        shown = {
            command: printed[command] if last is None else ["...", *printed[command][-last:]]
            for command, last in COMMANDS.items()
        }
        terminal(shown, out / "terminal.svg")
        for command in ("augment build-pairs", "train bsl --epochs 5", "train report runs/bsl"):
            run(command, folder)
        screenshots(folder, out)


if __name__ == "__main__":
    main()
