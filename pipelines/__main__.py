"""`python -m pipelines` is `augment`; and what both programs do before anything slow is imported."""

import gc
import os
import sys
from importlib.util import find_spec

from pipelines.terminal.interrupt import end_at_once

ALLOCATIONS = 100_000
"""New objects between two runs of Python's garbage collector. Rows form no cycles, and with the default threshold the
commands that use no model take up to a sixth longer."""
HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def check_namesakes() -> None:
    """End the program with one line if another package, earlier on Python's path, hides one of ours."""
    for name in ("augment", "trainers"):
        found = find_spec(name)
        place = "" if found is None else found.origin or ""
        if place and os.path.realpath(place) != os.path.join(HOME, name, "__init__.py"):
            advice = "install it in an environment of its own"
            sys.exit(f"error: {place} hides the package {name!r} of Twinviews: {advice}")


def main() -> None:
    """Run the command line."""
    end_at_once()
    gc.set_threshold(ALLOCATIONS)
    check_namesakes()
    from pipelines.cli.app import main as run_augment

    run_augment()


if __name__ == "__main__":
    main()
