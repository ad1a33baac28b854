from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nltk.data
import pytest
from refusals import refused

from augment import wordnet
from augment.errors import InputError, TwinviewsError
from pipelines.commands.wordnet import provide_wordnet


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine without any WordNet and with an empty cache; returns its home folder."""
    monkeypatch.delenv(wordnet.ENVIRONMENT, raising=False)
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    monkeypatch.setattr(wordnet, "DEBIAN_FOLDER", tmp_path / "usr-share-wordnet")
    wordnet.reader.cache_clear()
    yield tmp_path
    wordnet.reader.cache_clear()


@pytest.fixture(scope="session")
def real_wordnet() -> Path:
    """The WordNet of this machine."""
    try:
        return wordnet.find()
    except TwinviewsError as error:
        pytest.skip(str(error))


def lay_out(folder: Path) -> Path:
    """A folder with the file names of WordNet, one harmless line in each."""
    folder.mkdir(parents=True)
    for name in wordnet.NEEDED:
        (folder / name).write_text(f"mice mouse {name}\n", encoding="utf-8")
    return folder


def test_its_absence_is_one_line_that_says_how_to_get_it(empty_machine: Path) -> None:
    with refused("augment wordnet --provide"):
        wordnet.find()


@pytest.mark.parametrize("place", ["usr-share-wordnet", "cache/twinviews/corpora/wordnet", "nltk_data/corpora/wordnet"])
@pytest.mark.parametrize("kind", ["files", "links"])
def test_it_is_used_where_it_lies(empty_machine: Path, place: str, kind: str) -> None:
    folder = lay_out(empty_machine / ("real" if kind == "links" else place))
    if kind == "links":
        (empty_machine / place).mkdir(parents=True)
        for path in folder.iterdir():
            (empty_machine / place / path.name).symlink_to(path)
    assert wordnet.find() == empty_machine / place
    assert wordnet.exceptions(wordnet.find(), "noun") == {"mice": ["mouse", "noun.exc"]}


def test_a_zip_of_the_nltk_downloader_is_read_as_its_folder(empty_machine: Path) -> None:
    source = lay_out(empty_machine / "wordnet")
    archive = empty_machine / "nltk_data" / "corpora" / "wordnet.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as bundle:
        for path in source.iterdir():
            bundle.write(path, f"wordnet/{path.name}")
    assert wordnet.find() == archive
    assert wordnet.exceptions(archive, "noun") == {"mice": ["mouse", "noun.exc"]}
    assert wordnet.revision(archive) == wordnet.revision(source)
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.write(source / "data.noun", "wordnet/data.noun")
    with pytest.raises(InputError, match=r"not a whole WordNet \(no cntlist.rev\)"):
        wordnet.find()


def test_the_table_of_lexicographer_files_is_supplied(real_wordnet: Path) -> None:
    lexnames = wordnet.reader().open("lexnames").read().splitlines()
    assert (lexnames[0], lexnames[3], lexnames[44], len(lexnames)) == (
        "00\tadj.all\t3",
        "03\tnoun.Tops\t1",
        "44\tadj.ppl\t3",
        45,
    )


@pytest.mark.parametrize("below", [".", "corpora/wordnet"])
def test_the_environment_comes_first(empty_machine: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    lay_out(empty_machine / "usr-share-wordnet")
    folder = lay_out(empty_machine / "mine" / below)
    monkeypatch.setenv(wordnet.ENVIRONMENT, str(empty_machine / "mine"))
    assert wordnet.find() == folder.resolve()
    monkeypatch.setenv(wordnet.ENVIRONMENT, str(empty_machine / "nowhere"))
    with pytest.raises(InputError, match="nowhere: no WordNet there"):
        wordnet.find()
    with pytest.raises(InputError, match="nowhere: no WordNet there"):
        provide_wordnet()


def test_a_broken_zip_is_one_line(empty_machine: Path) -> None:
    archive = empty_machine / "nltk_data" / "corpora" / "wordnet.zip"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"not a zip")
    with pytest.raises(InputError, match=re.escape(str(archive))):
        wordnet.find()


def test_another_wordnet_is_another_revision(tmp_path: Path) -> None:
    first, second = lay_out(tmp_path / "a"), lay_out(tmp_path / "b")
    assert wordnet.revision(first) == wordnet.revision(second)
    third = lay_out(tmp_path / "c")
    (third / "data.noun").write_text("other\n", encoding="utf-8")
    assert wordnet.revision(third) != wordnet.revision(first)


def test_counts_of_senses_are_those_that_nltk_finds_in_the_file(real_wordnet: Path) -> None:
    counts = wordnet.sense_counts(real_wordnet)
    entries = [entry for name in ("car", "run", "good", "well", "caput") for entry in wordnet.reader().lemmas(name)]
    assert [counts.get(entry.key(), 0) for entry in entries] == [entry.count() for entry in entries]
    assert sum(counts.values()) > 200_000
