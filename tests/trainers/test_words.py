from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import wordfreq

from pipelines.console import InputError
from trainers.data.words import CHARACTERS, LONGEST, SHORTEST, random_strings, read_words


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
        ("{file}:6", "has 5 words: ask for no more than that"),
        ("{file}:0", "1-0 is no range of ranks"),
        ("{file}:4-2", "4-2 is no range of ranks"),
        ("{file}:0-2", "0-2 is no range of ranks"),
        ("{empty}", "holds no word"),
        ("nothing.txt", "no word list 'nothing.txt': give a file, or a language"),
        ("nothing.txt:3", "no word list 'nothing.txt'"),
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


@pytest.mark.parametrize("language", ["et", "cy", "xx"])
def test_a_language_without_a_list_is_refused_and_not_replaced_by_another(language: str) -> None:
    with pytest.raises(InputError, match=f"wordfreq has no list for '{language}', only ar, "):
        read_words(f"{language}:10")


def test_more_words_than_a_language_has_are_refused() -> None:
    with pytest.raises(InputError, match=r"en has [0-9,]+ words: ask for no more"):
        read_words("en:90000000")


def test_random_strings_are_different_uniform_and_decided_by_the_seed() -> None:
    strings = random_strings(10_000, seed=1)
    assert len(set(strings)) == 10_000
    assert {len(string) for string in strings} == set(range(SHORTEST, LONGEST + 1))
    counts = Counter("".join(strings))
    assert set(counts) == set(CHARACTERS)
    expected = sum(counts.values()) / len(CHARACTERS)
    # About 2,080 of each: five standard deviations are 11%.
    assert all(abs(count - expected) < 0.11 * expected for count in counts.values())
    assert random_strings(100, seed=1) == strings[:100]
    assert random_strings(100, seed=2) != strings[:100]
