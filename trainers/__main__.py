"""`python -m trainers` is `train`; so `torchrun --nproc-per-node 2 -m trainers mirror ...` trains in two processes."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout

from pipelines.interrupt import end_at_once
from pipelines.namesakes import check_namesakes

USER_MISTAKE = 2
"""The exit code of a mistake in the command, its data or its files."""


def main() -> None:
    """Run the command line; of several processes the first one speaks.

    Another one speaks of failures, not of a user's mistake: that is the same in all of them.
    """
    end_at_once()  # before anything is imported that takes time
    first = int(os.environ.get("RANK", "0")) == 0
    if first:
        check_namesakes()
    from pipelines.console import call
    from trainers.cli import app
    from trainers.cli import main as run_train

    if first:
        run_train()
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()):
        code = call(app, sys.argv[1:])
    if code not in (0, USER_MISTAKE):
        sys.stderr.write(said.getvalue())
    sys.exit(code)


if __name__ == "__main__":
    main()
