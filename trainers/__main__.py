"""`python -m trainers` is `train`; so `torchrun --nproc-per-node 2 -m trainers mirror ...` trains in two processes."""

import os
import sys

from pipelines.interrupt import end_at_once

PATIENCE = 10
"""Seconds in which the first process says what went wrong in all of them; the launcher then ends the others."""


def main() -> None:
    """Run the command line; of several processes the first one speaks, another only of what went wrong in it alone."""
    end_at_once()  # before anything is imported that takes time
    if int(os.environ.get("RANK", "0")) == 0:
        from trainers.cli import main as run_train

        run_train()
    sys.exit(_run_silently())


def _run_silently() -> int:
    import io
    import time
    from contextlib import redirect_stderr, redirect_stdout

    from pipelines.console import call
    from trainers.cli import app

    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()):
        code = call(app, sys.argv[1:])
    if code != 0:
        time.sleep(PATIENCE)
        sys.stderr.write(said.getvalue())
    return code


if __name__ == "__main__":
    main()
