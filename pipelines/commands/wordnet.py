"""`augment wordnet`: where WordNet lies; with `--provide` it is fetched into the user's cache."""

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from augment import wordnet
from augment.errors import InputError, TwinviewsError
from pipelines.console import show, show_json


def show_wordnet(
    provide: Annotated[bool, typer.Option("--provide", help="Get it where it is missing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Results as JSON.")] = False,
) -> None:
    """Say where WordNet was found; the synonym view needs it."""
    found = provide_wordnet() if provide else wordnet.find()
    if json:
        show_json({"path": str(found)})
    else:
        show(f"WordNet: {found}")


def provide_wordnet() -> Path:
    """Find WordNet or fetch it into the user's cache: from Debian's archive without root, else by NLTK's downloader.

    Both check what they fetch: apt by Debian's signature, NLTK by the checksum of its index.

    Raises:
        InputError: TWINVIEWS_WORDNET names a folder without it, or the cache cannot be written.
        TwinviewsError: Neither way worked, usually for want of a network.
    """
    try:
        return wordnet.find()
    except InputError:
        if os.environ.get(wordnet.ENVIRONMENT):
            raise
    target = wordnet.cached_wordnet()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".wordnet-", dir=target.parent) as scratch:
            fetched = _from_debian(Path(scratch)) or _from_nltk(Path(scratch))
            if fetched is not None:
                shutil.rmtree(target, ignore_errors=True)  # not a whole one, or it would have been found
                fetched.replace(target.with_suffix(fetched.suffix))
    except OSError as error:
        with suppress(InputError):
            return wordnet.find()  # another process was first
        raise InputError(f"{target}: WordNet cannot be stored there ({error.strerror}); set XDG_CACHE_HOME") from None
    if fetched is None:
        raise TwinviewsError(f"WordNet could not be fetched, from Debian or NLTK; {wordnet.HOW_TO_GET_IT}")
    return wordnet.find()


def _from_nltk(scratch: Path) -> Path | None:
    """NLTK's archive, fetched by its downloader; None if the network does not answer."""
    import nltk.downloader

    with suppress(OSError, ValueError):
        nltk.downloader.Downloader().download("wordnet", download_dir=str(scratch), quiet=True)
    archive = scratch / "corpora" / "wordnet.zip"
    return archive if archive.is_file() else None


def _from_debian(scratch: Path) -> Path | None:
    """The folder of Debian's wordnet-base, fetched and unpacked without root; None if apt is missing or finds none."""
    lists, cache, folder = scratch / "lists", scratch / "cache", scratch / "usr" / "share" / "wordnet"
    run = partial(subprocess.run, cwd=scratch, capture_output=True, timeout=300, check=True)
    own = ["apt-get", "-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache}"]
    with suppress(OSError, subprocess.SubprocessError, StopIteration):
        try:
            run(["apt-get", "download", "wordnet-base"])
        except subprocess.CalledProcessError:  # the machine has no lists of packages; our own need no root
            for place in (lists / "partial", cache / "archives" / "partial"):
                place.mkdir(parents=True)
            run([*own, "update"])
            run([*own, "download", "wordnet-base"])
        run(["dpkg-deb", "-x", next(scratch.glob("wordnet-base_*.deb")), "."])
        # What Debian leaves out; with them NLTK itself can read the folder.
        (folder / "lexnames").write_text(wordnet.lexnames(), encoding="utf-8")
        (folder / "index.sense").touch()
        return folder
    return None
