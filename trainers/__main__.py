"""`python -m trainers` is `train`.

So `torchrun --nproc-per-node 2 -m trainers mirror ...` trains in two processes.
"""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout

from pipelines.__main__ import check_namesakes
from pipelines.base.interrupt import end_at_once


def main() -> None:
    """Run the command line; of several processes the first one prints, the others only the line of a failure."""
    end_at_once()  # before anything is imported that takes time
    is_first = int(os.environ.get("RANK", "0")) == 0
    if is_first:
        check_namesakes()
    from pipelines.base.console import call
    from trainers.cli.app import app

    if is_first:
        sys.exit(call(app, sys.argv[1:]))
    messages = io.StringIO()
    with redirect_stderr(messages), redirect_stdout(io.StringIO()):
        code = call(app, sys.argv[1:])
    if code not in (0, 2):  # a user's mistake is the same in all of them
        sys.stderr.writelines(messages.getvalue().splitlines(keepends=True)[-1:])
    sys.exit(code)


if __name__ == "__main__":
    main()
