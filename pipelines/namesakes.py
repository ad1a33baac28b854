"""Other packages with a name of ours: Python imports the one that comes first on its path."""

import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def check_namesakes() -> None:
    """End the program with one line if another package hides one of ours."""
    for name in ("augment", "pipelines", "trainers"):
        paths = (os.path.join(os.path.abspath(place), name) for place in sys.path)
        found = (path for path in paths if os.path.isfile(f"{path}/__init__.py") or os.path.isfile(f"{path}.py"))
        first = next(found, None)
        if first is not None and os.path.dirname(first) != HOME:
            advice = "install it in an environment of its own"
            sys.exit(f"error: {first} hides the package {name!r} of Twinviews: {advice}")
