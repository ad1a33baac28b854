"""English words: forms, articles, parts of speech, and WordNet."""

import csv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nltk.data
import pytest
from checks import TEXTS, real_sentences, refused
from nltk.tag.perceptron import PerceptronTagger

from augment import wordnet
from augment.edits import tokens
from augment.english import inflect, is_plural_entry, load_data, tagger, wants_an

IRREGULAR_VERBS = Path(__file__).parent / "data" / "irregular_verbs.tsv"
"""Verb, past and participle, with the variants that dictionaries accept."""


def test_every_irregular_verb_has_an_accepted_past_and_participle() -> None:
    with IRREGULAR_VERBS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    forms = [(row["verb"], tag, row[name]) for row in rows for tag, name in (("VBD", "past"), ("VBN", "participle"))]
    assert len(forms) > 680
    assert [(verb, tag, inflect(verb, tag)) for verb, tag, ok in forms if inflect(verb, tag) not in ok.split("|")] == []


VERBS = """
    address addresses addressing addressed addressed, acquit acquits acquitting acquitted acquitted, be is being was
    been, begin begins beginning began begun, blend blends blending blended blended, blog blogs blogging blogged
    blogged, can cans canning canned canned, carry carries carrying carried carried, channel channels channeling
    channeled channeled, coordinate coordinates coordinating coordinated coordinated, dare dares daring dared dared,
    embed embeds embedding embedded embedded, fix fixes fixing fixed fixed, joyride joyrides joyriding joyrode
    joyridden, lean leans leaning leaned leaned, lie lies lying lay lain, mimic mimics mimicking mimicked mimicked, need
    needs needing needed needed, offset offsets offsetting offset offset, okay okays okaying okayed okayed, quiz
    quizzes quizzing quizzed quizzed, refer refers referring referred referred, sidestep sidesteps sidestepping
    sidestepped sidestepped, singe singes singeing singed singed, ski skis skiing skied skied, stop stops stopping
    stopped stopped, visit visits visiting visited visited
"""
PLURALS = """
    act acts, aircraft aircraft, alias aliases, analysis analyses, angelfish angelfish, atlas atlases, beef beefs, box
    boxes, brother brothers, bus buses, canvas canvases, child children, church churches, city cities, coachman
    coachmen, condo condos, crisis crises, criterion criteria, deer deer, ego egos, epoch epochs, fish fish, foot feet,
    gas gases, glass glasses, goose geese, hero heroes, house houses, human humans, iris irises, knife knives, leaf
    leaves, lens lenses, life lives, man men, men men, monarch monarchs, mouse mice, news news, ox oxen, oxen oxen,
    person persons, phenomenon phenomena, photo photos, piano pianos, potato potatoes, quiz quizzes, roof roofs, salmon
    salmon, scissors scissors, series series, sheep sheep, sis sises, species species, stomach stomachs, thanks thanks,
    thief thieves, tooth teeth, toy toys, wife wives, wolf wolves, woman women, woods woods, drinking -, governed -,
    outset -, plethora -
"""
COMPARISON = """
    big bigger biggest, nice nicer nicest, happy happier happiest, good better best, bad worse worst, simple simpler
    simplest, true truer truest, free freer freest, wooden - -, elder - -, wrong - -, beautiful - -
"""


@pytest.mark.parametrize(
    ("tags", "table"), [("VBZ VBG VBD VBN", VERBS), ("NNS", PLURALS), ("JJR JJS", COMPARISON)], ids=["v", "n", "a"]
)
def test_other_forms(tags: str, table: str) -> None:
    """Each row has a lemma and its forms for the tags, "-" if English has none."""
    rows = [row.split() for row in table.split(",")]
    assert rows == [[row[0], *(inflect(row[0], tag) or "-" for tag in tags.split())] for row in rows]


def test_entries_that_are_plurals_themselves() -> None:
    entries = ("scissors", "eyeglasses", "glass", "bus", "deer")
    assert [entry for entry in entries if is_plural_entry(entry)] == ["scissors", "eyeglasses"]


AN = "apple hour honest uncle unimportant uninteresting urgent usher x"
A = "university user European one onetime house unit unanimous utopia ukulele UNIT urine"


def test_articles_follow_the_sound() -> None:
    assert [word for word in f"{AN} {A}".split() if wants_an(word)] == AN.split()


@pytest.mark.parametrize("real", [0, 900])
def test_the_tags_are_those_of_nltk(real: int) -> None:
    """Of NLTK's own tagger on the same weights."""
    nltks = PerceptronTagger(load=False)
    nltks.model.weights, nltks.tagdict = load_data("weights"), load_data("tagdict")
    nltks.classes = nltks.model.classes = set(load_data("classes"))
    for text in real_sentences(real) if real else [*TEXTS, "In 1999 U.S.-led x-ray 3rd ?! 42", ""]:
        words = [token.text for token in tokens(text)]
        assert tagger().tag(words) == nltks.tag(words)


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


def lay_out(folder: Path) -> Path:
    """A folder with the file names of WordNet, one harmless line in each."""
    folder.mkdir(parents=True)
    for name in wordnet.NEEDED:
        (folder / name).write_text(f"mice mouse {name}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", ["usr-share-wordnet", "cache/twinviews/corpora/wordnet", "nltk_data/corpora/wordnet"])
def test_it_is_used_where_it_is(empty_machine: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (empty_machine / place).mkdir(parents=True)
    for path in lay_out(empty_machine / "mine" / "corpora" / "wordnet").iterdir():
        (empty_machine / place / path.name).symlink_to(path)
    assert wordnet.find() == empty_machine / place
    assert wordnet.exceptions(wordnet.find(), "noun") == {"mice": ["mouse", "noun.exc"]}
    for named in ("mine", "mine/corpora/wordnet"):
        monkeypatch.setenv(wordnet.ENVIRONMENT, str(empty_machine / named))
        assert wordnet.find() == empty_machine / "mine" / "corpora" / "wordnet"
    monkeypatch.setenv(wordnet.ENVIRONMENT, str(empty_machine / "nowhere"))
    with refused("nowhere: no WordNet there"):
        wordnet.find()


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
    other = lay_out(empty_machine / "other")
    (other / "data.noun").write_text("other\n", encoding="utf-8")
    assert wordnet.revision(other) != wordnet.revision(source)
    archive.write_bytes(archive.read_bytes()[:-9])
    with refused("python -m nltk.downloader wordnet"):
        wordnet.find()


def test_counts_of_senses_are_those_that_nltk_finds_in_the_file(real_wordnet: Path) -> None:
    counts = wordnet.sense_counts(real_wordnet)
    entries = [entry for name in ("car", "run", "good", "well", "caput") for entry in wordnet.reader().lemmas(name)]
    assert [counts.get(entry.key(), 0) for entry in entries] == [entry.count() for entry in entries]
    assert sum(counts.values()) > 200_000
