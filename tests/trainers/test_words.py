from pathlib import Path

import pytest
import wordfreq

from pipelines.console import InputError
from trainers.data.words import read_words


@pytest.fixture
def word_file(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_text("the\nof\n\n and \nnaïve\nto\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("suffix", "words"),
    [
        ("", ["the", "of", "and", "naïve", "to"]),
        (":2", ["the", "of"]),
        (":2-4", ["of", "and", "naïve"]),
        (":5-5", ["to"]),
    ],
)
def test_words_of_a_file_by_rank(word_file: Path, suffix: str, words: list[str]) -> None:
    assert read_words(f"{word_file}{suffix}") == words


def test_a_file_may_have_a_colon_and_a_number_in_its_name(word_file: Path) -> None:
    other = word_file.rename(word_file.with_name("words:2"))
    assert len(read_words(str(other))) == 5
    assert len(read_words(f"{other}:3")) == 3


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{file}:6", "has no words 1 to 6, only 5 words"),
        ("{file}:4-2", "has no words 4 to 2, only 5 words"),
        ("{empty}", "has no words 1 to 0, only 0 words"),
        ("nothing.txt:3", "no file 'nothing.txt', and no language of ar, "),
        ("et:10", "no file 'et', and no language of ar, "),
        ("en:90000000", "en has no words 1 to 90000000, only "),
    ],
)
def test_words_that_are_not_there_are_one_line(word_file: Path, written: str, message: str) -> None:
    empty = word_file.with_name("empty.txt")
    empty.write_text("\n \n")
    with pytest.raises(InputError, match=message) as caught:
        read_words(written.format(file=word_file, empty=empty))
    assert "\n" not in str(caught.value)


def test_most_frequent_words_of_a_language() -> None:
    words = read_words("en")
    assert words == wordfreq.top_n_list("en", 10_000)
    assert len(set(words)) == 10_000
    assert read_words("en:50") == words[:50]
    assert read_words("en:101-200") == words[100:200]
    assert all(wordfreq.word_frequency(word, "de") > 0 for word in read_words("de:20"))
