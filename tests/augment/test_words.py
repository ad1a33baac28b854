"""Words: tokens and edits, English forms, articles and parts of speech, and WordNet."""

import csv
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nltk.data
import pytest
import wordfreq
from hypothesis import given
from hypothesis import strategies as st
from nltk.tag.perceptron import PerceptronTagger
from samples import TEXTS, real_sentences, refused

from augment.lexicon import wordnet
from augment.text import english
from augment.text.edits import apply_edits, find_edits, tokens, words
from augment.text.english import inflect, load_data, tagger, wants_an
from augment.text.words import replaceable, shared_words
from augment.view import Edit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't  stop", ["Don't", "stop"]),
        ("the well-known “plan”", ["the", "well-known", "plan"]),
        ("the U.S. rose 3.5% at 10:30", ["the", "U.S.", "rose", "3.5%", "at", "10:30"]),
        ("$1,000.50 for a 3D 4th", ["$1,000.50", "for", "a", "3D", "4th"]),
        ("café’s naïve 猫が好き 👩‍👩‍👧!", ["café’s", "naïve", "猫が好き"]),
        ("AT&T (example.org)", ["AT&T", "example.org"]),
        ("e\u0301te\u0301 \u2014 sic", ["e\u0301te\u0301", "sic"]),
        ("U.S.A and U.S.-led", ["U.S.A", "and", "U.S.", "led"]),
        ("हिन्दी में שָׁלוֹם", ["हिन्दी", "में", "שָׁלוֹם"]),
        ("می‌خواهم col·lecció צה״ל", ["می‌خواهم", "col·lecció", "צה״ל"]),
        ("1️⃣ 🇩🇪🇫🇷 👍🏽 ❤️ ok", ["ok"]),
        ("", []),
    ],
)
def test_words_are_kept_whole(text: str, expected: list[str]) -> None:
    assert [word.text for word in words(text)] == expected
    emoji = ["👩‍👩‍👧", "👍🏽", "1️⃣", "🇩🇪", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🧑🏾‍🚀"]
    assert [token.text for token in tokens(" ".join(emoji))] == emoji


PIECES = [
    "don't",
    "o’clock",
    "well-known",
    "U.S.",
    "e.g.",
    "3.5%",
    "$1,000.50",
    "“quoted”",
    "‘so’",
    "AT&T",
    "dog",
    "Über",
    "e\u0301te\u0301",
    "naïve",
    "👩‍👩‍👧",
    "👍🏽!",
    "🇫🇷",
    "1️⃣",
    "猫が好き",
    "שָׁלוֹם",
    "السَّلام",
    "می‌خواهم",
    "हिन्दी",
    "—",
    "...",
    "(",
    ")",
    ",",
    "\u0301",
    "\u200d",
]
TRICKY = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", "  ", "\t", "\u00a0"]))).map(
    lambda pairs: "".join(piece + space for piece, space in pairs)
)


@given(st.one_of(st.text(), TRICKY))
def test_tokens_cover_the_text_but_white_space_in_order(text: str) -> None:
    found = tokens(text)
    assert all(text[token.start : token.end] == token.text for token in found)
    assert all(first.end <= second.start for first, second in pairwise(found))
    assert "".join(token.text for token in found) == "".join(text.split())


@given(st.data())
def test_edits_rewrite_exactly_their_spans(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.tuples(st.text(), st.text(min_size=1), st.text()), max_size=5))
    tail = data.draw(st.text())
    text, expected, edits = "", "", []
    for kept, old, new in parts:
        text, expected = text + kept, expected + kept + new
        edits.append(Edit(len(text), len(text) + len(old), old, new))
        text += old
    shuffled = data.draw(st.permutations(edits))
    assert apply_edits(text + tail, shuffled) == expected + tail


@pytest.mark.parametrize(
    ("edits", "complaint"),
    [
        ([Edit(0, 3, "cat", "x")], "does not fit"),
        ([Edit(-1, 2, "a", "x")], "does not fit"),
        ([Edit(4, 9, "dog", "x")], "does not fit"),
        ([Edit(0, 5, "the d", "x"), Edit(4, 7, "dog", "y")], "overlaps"),
    ],
)
def test_edits_that_do_not_fit_are_refused(edits: list[Edit], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        apply_edits("the dog", edits)


PIECES = re.compile(r"\w+|\s+|[^\w\s]").findall


@pytest.mark.parametrize(
    ("text", "view", "expected"),
    [
        ("A man sings.", "A human sings.", [("man", "human")]),
        ("It is a big dog.", "It is a dog.", [("big", "")]),
        (
            "The U.S. bought 3.5% gold.",
            "The U. S. sold 3. 5% gold.",
            [("", " "), ("bought", "sold"), ("", " ")],
        ),
        ("One, two.", "One, three.", [("two", "three")]),
    ],
)
def test_word_edits_replace_whole_words(text: str, view: str, expected: list[tuple[str, str]]) -> None:
    assert [(edit.old.strip(), edit.new) for edit in find_edits(text, view, PIECES)] == expected


@given(st.text(alphabet="ab .,'é\t-1", max_size=30), st.text(alphabet="ab .,'é\t-1", max_size=30))
def test_word_edits_turn_one_text_into_the_other(text: str, view: str) -> None:
    edits = find_edits(text, view, PIECES)
    assert apply_edits(text, edits) == view
    assert (not edits) == (text == view)


def test_words_have_the_forms_that_dictionaries_accept() -> None:
    """Each row has a lemma, a tag, and the accepted forms, or "-" if English has none."""
    with (Path(__file__).parent / "data" / "forms.tsv").open(encoding="utf-8") as file:
        rows = [(row["lemma"], row["tag"], row["forms"]) for row in csv.DictReader(file, delimiter="\t")]
    assert len(rows) > 900
    found = [(lemma, tag, inflect(lemma, tag) or "-", forms) for lemma, tag, forms in rows]
    assert [each for each in found if each[2] not in each[3].split("|")] == []


def test_written_words_are_those_of_wordfreqs_english_list() -> None:
    assert english.written_words() == wordfreq.get_frequency_dict("en", "best").keys()


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
    texts = real_sentences(real) if real else [*TEXTS, "In 1999 U.S.-led x-ray 3rd ?! 42", ""]
    sentences = [[token.text for token in tokens(text)] for text in texts]
    expected = [[tag for _, tag in nltks.tag(words)] for words in sentences]
    assert [tagger().tags([words])[0] for words in sentences] == expected
    assert tagger().tags(sentences) == expected


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine without any WordNet and with an empty cache; returns its home folder."""
    monkeypatch.delenv(wordnet.VARIABLE, raising=False)
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    monkeypatch.setattr(wordnet, "DEBIAN_FOLDER", tmp_path / "usr-share-wordnet")
    wordnet.reader.cache_clear()
    yield tmp_path
    wordnet.reader.cache_clear()


def lay_out(folder: Path) -> Path:
    """A folder with the file names of WordNet, one escape_control line in each."""
    folder.mkdir(parents=True)
    for name in wordnet.CONTENT_FILES:
        (folder / name).write_text("mice mouse 1\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "place", ["usr-share-wordnet", "cache/twinviews/corpora/wordnet", "nltk_data/corpora/wordnet"]
)
def test_wordnet_is_found_where_installed(
    empty_machine: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_machine / place).mkdir(parents=True)
    mine = lay_out(empty_machine / "mine" / "corpora" / "wordnet")
    for path in mine.iterdir():
        (empty_machine / place / path.name).symlink_to(path)
    assert wordnet.find() == empty_machine / place
    for named in ("mine", "mine/corpora/wordnet"):
        monkeypatch.setenv(wordnet.VARIABLE, str(empty_machine / named))
        assert wordnet.find() == mine
    monkeypatch.setenv(wordnet.VARIABLE, str(empty_machine / "nowhere"))
    with refused("nowhere: no WordNet there"):
        wordnet.find()


def test_a_zip_of_the_nltk_downloader_is_read_like_a_folder(empty_machine: Path) -> None:
    source = lay_out(empty_machine / "wordnet")
    archive = empty_machine / "nltk_data" / "corpora" / "wordnet.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as bundle:
        for path in source.iterdir():
            bundle.write(path, f"wordnet/{path.name}")
    assert wordnet.find() == archive
    assert wordnet.WordNet(archive).exceptions["n"] == {"mice": ["mouse", "1"]}
    assert wordnet.revision(archive) == wordnet.revision(source)
    other = lay_out(empty_machine / "other")
    (other / "data.noun").write_text("other\n", encoding="utf-8")
    assert wordnet.revision(other) != wordnet.revision(source)
    archive.write_bytes(archive.read_bytes()[:-9])
    with refused("python -m nltk.downloader wordnet"):
        wordnet.find()


FORMS = ["mice", "axes", "glasses", "men", "running", "was", "better", "farthest", "women", "ss", ""]
NAMES = [
    "car",
    "run",
    "good",
    "well",
    "caput",
    "bach",
    "ice_cream",
    "used_to",
    "galore",
    "afraid",
    "screw",
    "instancy",
]


@pytest.mark.exhaustive
def test_synsets_are_those_of_nltks_reader(real_wordnet: Path) -> None:
    nltks, ours = wordnet.reader(), wordnet.WordNet(real_wordnet)
    assert ours.names == set(nltks.all_lemma_names())
    for part in "nvar":
        for word in [*NAMES, *FORMS, *sorted(ours.names)[::50]]:
            assert ours.lemmas(word, part) == nltks._morphy(word, part)
            for synset, expected in zip(ours.senses(word, part), nltks.synsets(word, part), strict=True):
                names = [entry.name for entry in synset.entries]
                assert names == [lemma.name() for lemma in expected.lemmas()]
        for name in NAMES:
            uses = [lemma.count() for lemma in nltks.lemmas(name, part)]
            assert [entry.uses for entry in ours.entries(name, part)] == uses


def test_what_wordnet_calls_archaic_or_offensive_is_unwanted(real_wordnet: Path) -> None:
    ours = wordnet.WordNet(real_wordnet)
    assert [synset.unwanted for synset in ours.senses("bosom", "n")] == [True, *[False] * 5]


def test_a_damaged_wordnet_is_one_line(real_wordnet: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(real_wordnet, tmp_path / "wordnet")
    (damaged / "data.noun").write_bytes((real_wordnet / "data.noun").read_bytes()[1:])
    with refused("no synset at 2374451 of part 'n', so it is damaged"):
        wordnet.WordNet(damaged).senses("horse", "n")
    (damaged / "data.noun").write_bytes(b"\xff")
    with refused("data.noun is damaged"):
        wordnet.WordNet(damaged)


@pytest.mark.exhaustive
def test_nltks_folders_are_known_without_importing_it() -> None:
    code = (
        "import sys; from augment.lexicon.wordnet import nltk_folders; found = nltk_folders(); "
        "assert 'nltk' not in sys.modules; import nltk.data; assert found == nltk.data.path, (found, nltk.data.path)"
    )
    environment = {**os.environ, "NLTK_DATA": f"/mine{os.pathsep}/theirs"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ஒரு நாய் வேகமாக ஓடுகிறது", 4),
        ("एक कुत्ता दौड़ रहा है", 5),
        ("สุนัข วิ่ง", 2),
        ("Zwei Hunde don’t 3D naïve cafés", 3),
    ],
)
def test_a_word_with_vowel_signs_is_a_word(text: str, words: int) -> None:
    assert len(replaceable(tokens(text))) == words
    assert shared_words(text, text) == 1
    assert shared_words("हिन्दी", "हिन्द") == 0
