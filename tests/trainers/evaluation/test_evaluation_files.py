"""Files of evaluations: drafts that killed processes leave, and whole files in their place."""

import os
import subprocess
import sys
import time
from pathlib import Path

from trainers.files import STALE, whole_file


def test_a_killed_writer_leaves_the_old_file_and_a_draft_that_goes_when_it_is_old(tmp_path: Path) -> None:
    path = tmp_path / "sts.json"
    path.write_text("old")
    (tmp_path / ".sts.json.tmp").write_text("mine")
    os.utime(tmp_path / ".sts.json.tmp", (0, 0))
    code = (
        "import os, sys; from pathlib import Path; from trainers.files import whole_file\n"
        "with whole_file(Path(sys.argv[1])) as stream: stream.write(b'half'); stream.flush(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert path.read_text() == "old"
    (draft,) = set(tmp_path.iterdir()) - {path, tmp_path / ".sts.json.tmp"}
    for age, left in ((STALE - 60, {path, draft}), (STALE + 60, {path})):
        os.utime(draft, (time.time() - age,) * 2)
        with whole_file(path) as stream:
            stream.write(b"new")
        assert set(tmp_path.iterdir()) == {*left, tmp_path / ".sts.json.tmp"}
        assert path.read_text() == "new"
