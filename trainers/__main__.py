"""`python -m trainers` is `train`; so `torchrun --nproc-per-node 2 -m trainers mirror ...` trains in two processes."""

from __future__ import annotations

import io
import os
import sys
import time
from contextlib import redirect_stderr, redirect_stdout

from pipelines.console import call, run
from trainers.cli import app

PATIENCE = 10
"""Seconds in which the first process says what went wrong in all of them; the launcher then ends the others."""


def main() -> None:
    """Run the command line; of several processes the first one speaks, another only of what went wrong in it alone."""
    if int(os.environ.get("RANK", "0")) == 0:
        run(app)
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()):
        code = call(app, sys.argv[1:])
    if code != 0:
        time.sleep(PATIENCE)
        sys.stderr.write(said.getvalue())
    sys.exit(code)


if __name__ == "__main__":
    main()
