"""Average the weights of a model before and after it was trained on, so that it forgets less of what it knew.

    python recipes/starter_average.py --start build/starter/start/en-xx --run build/starter/run-en-xx --share 0.75

Writes RUN/averaged: `share` of the trained weights, the rest of the start's (Wortsman et al. 2022, WiSE-FT).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

WEIGHTS = "model.safetensors"


def main() -> None:
    """Write the averaged model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--share", type=float, required=True)
    options = parser.parse_args()
    averaged = options.run / "averaged"
    shutil.copytree(options.run / "model", averaged, dirs_exist_ok=True)
    before, after = load_file(options.start / WEIGHTS), load_file(options.run / "model" / WEIGHTS)
    weights = {name: torch.lerp(before[name].float(), after[name].float(), options.share).half() for name in after}
    save_file(weights, averaged / WEIGHTS, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
