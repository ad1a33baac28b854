"""Packages of other people that have a name of ours: Python imports the one that comes first on its path."""

import os
import sys

NAMES = ("augment", "pipelines", "trainers")
HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def namesakes() -> list[str]:
    """Return where Python's path holds other packages of these names; another copy of Twinviews is none."""
    found = []
    for place in dict.fromkeys(map(os.path.abspath, sys.path)):
        paths = [os.path.join(place, name) for name in NAMES]
        there = [path for path in paths if os.path.isfile(f"{path}/__init__.py") or os.path.isfile(f"{path}.py")]
        if len(there) < len(NAMES):
            found += there
    return found


def warn_of_namesakes() -> None:
    """Say in one line which packages ours hide; end the program, in one line, where one hides ours."""
    for path in namesakes():
        from importlib.util import find_spec  # slow to import, and seldom needed

        name = os.path.basename(path)
        spec = find_spec(name)
        if spec is None or os.path.dirname(spec.origin or "") != os.path.join(HOME, name):
            sys.exit(f"error: {path} hides the package {name!r} of Twinviews: install it in an environment of its own")
        sys.stderr.write(f"warning: {path} is hidden by the package {name!r} of Twinviews: `import {name}` is ours\n")
