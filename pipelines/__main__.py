"""`python -m pipelines` is `augment`; and what both programs do before anything slow is imported."""

import gc
import os
import sys
from importlib.util import find_spec

from pipelines.base.interrupt import end_at_once

GC_THRESHOLD = 100_000
"""New objects between two garbage collections: rows form no cycles, and the default costs up to a sixth more
time."""
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def check_namesakes() -> None:
    """End the program with one line if another package, earlier on Python's path, hides one of ours."""
    for name in ("augment", "trainers"):
        spec = find_spec(name)
        path = spec.origin if spec else None
        if path and os.path.realpath(path) != os.path.join(ROOT, name, "__init__.py"):
            sys.exit(
                f"error: {path} hides the package {name!r} of Twinviews: install it in an environment of its own"
            )


def main() -> None:
    """Run the command line."""
    end_at_once()
    gc.set_threshold(GC_THRESHOLD)
    check_namesakes()
    from pipelines.cli.app import main as run_augment

    run_augment()


if __name__ == "__main__":
    main()
