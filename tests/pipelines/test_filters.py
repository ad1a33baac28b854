"""Filters: what each keeps and drops, by hand-made pairs with known answers."""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augment.errors import InputError, MissingExtraError
from augment.view import Runtime, row_id
from pipelines.base.tables.sources import SAMPLE_FILE
from pipelines.pairs.filter import FILTERS, Filter, PairColumns, make_filter
from pipelines.pairs.filters.near_duplicates import HASHES, sign
from pipelines.pairs.pair import Candidate, SideInfo

CPU = Runtime("cpu")
MASKED, PLAIN, GERMAN = (
    SideInfo("span-mask", "span-mask"),
    SideInfo("synonym"),
    SideInfo("de", "translate", "de"),
)


class Pair(NamedTuple):
    text: str
    view_a: str
    view_b: str
    about: tuple[SideInfo, SideInfo]


def pair(
    one: str, two: str, *, text: str | None = None, about: tuple[SideInfo, SideInfo] = (PLAIN, PLAIN)
) -> Pair:
    return Pair(one if text is None else text, one, two, about)


def judge(filter: Filter, pairs: Sequence[Pair]) -> list[tuple[str | None, float | None]]:
    """The reason and the score of each pair."""
    known = {about.name: about for pair in pairs for about in pair.about}
    columns = [Candidate("", *pair[:3], *(about.name for about in pair.about)) for pair in pairs]
    reasons, scores = filter(PairColumns(columns, known))
    return list(zip(reasons, [None] * len(pairs) if scores is None else scores, strict=True))


def reasons(written: str, pairs: Sequence[Pair]) -> list[str | None]:
    return [reason for reason, _ in judge(make_filter(written, CPU), pairs)]


SAME, ALIKE = "identical pair", "identical but for case and punctuation"
RATIO, REPEATS = "length ratio too high", "repetition in view_b"


@pytest.mark.exhaustive_after(40)
@pytest.mark.parametrize(
    ("written", "one", "two", "reason"),
    [
        ("identical", "A dog.", "a  dog", ALIKE),
        ("identical", "“Ｄogs” – cats", "dogs cats", ALIKE),
        ("identical", "A dog.", "A cat.", None),
        ("identical", "?!", "...", None),
        ("identical", "?!", "?!", SAME),
        ("identical", "It is in C.", "It is in C++.", None),
        ("identical", "C#", "C", None),
        ("identical", "It rose by 5%.", "It rose by 5$.", None),
        ("identical", "x > 3", "x < 3", None),
        ("identical", "a/b", "a & b", None),
        ("identical", "It is -5 degrees.", "It is 5 degrees.", None),
        ("identical", "It took 3.5 hours.", "It took 35 hours.", None),
        ("identical", "I am happy 😀", "I am happy 😡", None),
        ("identical", "“It’s 5 %,” he said -", "its 5 % he said", ALIKE),
        ("identical", "`Done` – in 1961.", "done in 1961", ALIKE),
        ("identical:exact=true", "A dog.", "a dog.", None),
        ("identical:exact=true", "A dog.", "A dog.", SAME),
        ("length-ratio", "a b c", "a", None),
        ("length-ratio", "a", "a b c d", RATIO),
        ("length-ratio:max=1", "a b", "c d", None),
        ("length_ratio:max=1.4", "a b", "c d e", RATIO),
        ("length-ratio:unit=character,max=2", "狗跑", "狗跑了很快", RATIO),
        ("length-ratio:unit=character,max=2", "狗跑", "狗跑了快", None),
        ("length-ratio", "Two dogs are running on the beach.", "两只狗在海滩上跑。", None),
        ("length-ratio", "两只狗在跑。", "狗", RATIO),
        ("length-ratio", "", "a", RATIO),
        ("gender", "Her husband is here.", "His husband is here.", "synonym changes a gender"),
        ("gender", "Her husband is here.", "Her spouse is here.", None),
        ("gender", "She is his mother.", "He is her mother.", "synonym changes a gender"),
        ("repetition", "नमस्ते", "किताबें मेज़ पर हैं", None),
        ("repetition", "नमस्ते", "वह घर गया और वह घर गया", REPEATS),
        ("repetition", "A man walks.", "A man walks and a man walks.", REPEATS),
        ("repetition", "A man walks and a man walks.", "A man walks. A man walks.", None),
        ("repetition", "Ein Mann geht und ein Mann geht.", "A man walks and a man walks.", None),
        ("repetition", "It is very good.", "It is very very good.", None),
        ("repetition:n=2", "It is very good.", "It is very very very good.", REPEATS),
        ("repetition:times=3", "A man walks.", "A man walks and a man walks.", None),
        ("repetition:unit=character,n=2,times=3", "哈。", "哈哈哈哈", REPEATS),
    ],
)
def test_a_pair_and_why_it_is_dropped(written: str, one: str, two: str, reason: str | None) -> None:
    assert reasons(written, [pair(one, two)]) == [reason]


WORDS = st.sampled_from(
    ["", "a", "a", "A", "ab", "ba", "B", "_", "o'b", "o’b", "é", "É", "ß", "ss", "ﬁ", "狗", "\0"]
)
GAPS = st.sampled_from([" ", " ", " ", "\t", "\x1c", "\x85", "\xa0", "\u2028", "-", "!", "“"])
TEXTS = st.lists(st.tuples(GAPS, WORDS), max_size=9).map(lambda parts: "".join(map("".join, parts)))


def bare(text: str) -> list[str]:
    """By Unicode's categories, letter by letter; in `TEXTS` no mark is part of a number or stands for a word."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(each for each in folded if unicodedata.category(each)[0] != "P").split()


def spaced(text: str) -> list[str]:
    """The words, a Chinese letter with the marks that touch it each one."""
    return re.sub("[!“_-]*狗[!“_-]*", " x ", text).split()


def most(text: str, n: int, unit: str) -> int:
    """How often the most frequent n-gram occurs."""
    units = re.findall(r"\w+(?:['’-]\w+)*", text.casefold()) if unit == "word" else text.casefold()
    return max(
        Counter(tuple(units[place : place + n]) for place in range(len(units) - n + 1)).values(), default=1
    )


@pytest.mark.exhaustive
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=8), st.integers(2, 4), st.integers(2, 3))
def test_many_texts_at_once_are_judged_as_one_by_one(
    rows: list[tuple[str, str, str]], n: int, times: int
) -> None:
    pairs = [
        pair(one, two, text=text) for text, one, two in [*rows, *((text, text, one) for text, one, _ in rows)]
    ]
    same = [each.view_a == each.view_b or bare(each.view_a) == bare(each.view_b) != [] for each in pairs]
    expected = [
        SAME if one.view_a == one.view_b else ALIKE if each else None
        for one, each in zip(pairs, same, strict=True)
    ]
    assert reasons("identical", pairs) == expected
    for unit in ("word", "character"):
        cut = spaced if unit == "word" else list
        lengths = [sorted((len(cut(each.view_a)), len(cut(each.view_b)))) for each in pairs]
        too_high = [not one or two > one for one, two in lengths]
        assert reasons(f"length-ratio:max=1,unit={unit}", pairs) == [
            RATIO if each else None for each in too_high
        ]
        found = [[most(text, n, unit) for text in each[:3]] for each in pairs]
        sides = [[side >= times and side > text for side in sides] for text, *sides in found]
        expected = ["repetition in view_a" if one else REPEATS if two else None for one, two in sides]
        assert reasons(f"repetition:n={n},times={times},unit={unit}", pairs) == expected


def test_chrf_is_sacrebleus() -> None:
    from sacrebleu.metrics import CHRF

    pairs = [
        pair("A dog runs.", "A dog ran fast."),
        pair("A dog runs.", "A dog runs."),
        pair("A dog runs.", "Zwölf"),
    ]
    expected = [CHRF().sentence_score(each.view_b, [each.view_a]).score for each in pairs]
    verdicts = judge(make_filter("chrf:min=5,max=90", CPU), pairs)
    assert [score for _, score in verdicts] == pytest.approx(expected, abs=0.005)
    assert [reason for reason, _ in verdicts] == [None, "chrF too high", "chrF too low"]
    assert reasons("chrf", pairs) == [None, None, None]


@pytest.mark.exhaustive
@pytest.mark.parametrize("side", ["a", "b"])
def test_a_back_translation_is_compared_with_its_own_sentence(side: str) -> None:
    back, translated = (
        SideInfo("backtranslate-de", "backtranslate"),
        SideInfo("translate-de", "translate", "de"),
    )
    text, close, far = "A dog runs in the park.", "A dog is running in the park.", "Der Bürgermeister schlief."

    def found(view: str, about: SideInfo, written: str = "paraphrase") -> str | None:
        one, two, abouts = (view, text, (about, PLAIN)) if side == "a" else (text, view, (PLAIN, about))
        return reasons(written, [pair(one, two, text=text, about=abouts)])[0]

    dropped = "backtranslate-de is not a paraphrase (chrF to its sentence too low)"
    assert found(far, back) == found(close, back, "paraphrase:min=90") == dropped
    kept = (close, back), (far, translated), (far, PLAIN), (far, back, "paraphrase:min=0")
    assert [found(*each) for each in kept] == [None] * 4
    both = pair(far, far, text=text, about=(back, PLAIN))  # alike, but not like their sentence
    assert reasons("paraphrase", [both, pair(close, close, text=text)]) == [dropped, None]


@pytest.mark.exhaustive
def test_what_a_reader_accepts_is_kept() -> None:
    """300 round trips of the sample that pass as views, read one by one, a few words of detail or grammar forgiven."""
    lines = (Path(__file__).parent / "data" / "paraphrases.tsv").read_text(encoding="utf-8").splitlines()[1:]
    sentences = {row_id(text): text for text in SAMPLE_FILE.read_text(encoding="utf-8").splitlines()}
    rows = [line.split("\t") for line in lines]
    acceptable = [label == "1" for _, _, label, _ in rows]
    pairs = []
    for id, pivot, _, view in rows:
        about = SideInfo(f"backtranslate-{pivot}", "backtranslate", "en", "starter")
        pairs.append(pair(view, sentences[id], text=sentences[id], about=(about, PLAIN)))
    kept = {}
    for written in ("paraphrase", "paraphrase:meaning=0"):
        kept[written] = [reason is None for reason in reasons(written, pairs)]
    both = {written: sum(map(all, zip(flags, acceptable, strict=True))) for written, flags in kept.items()}
    precision = {written: both[written] / sum(flags) for written, flags in kept.items()}
    assert (len(rows), sum(acceptable)) == (300, 151)
    assert precision["paraphrase"] >= 0.84 > 0.6 > precision["paraphrase:meaning=0"]
    assert both["paraphrase"] / sum(acceptable) >= 0.64
    others = [one._replace(about=(one.about[0]._replace(models="opus-mt"), PLAIN)) for one in pairs]
    assert sum(reason is None for reason in reasons("paraphrase", others)) > sum(kept["paraphrase"])


def test_semantic_is_the_cosine_of_masked_means() -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    from augment.models.weights import find_encoder

    path = find_encoder("starter").path
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModel.from_pretrained(path, dtype=torch.float32).eval()
    pairs = [
        pair("A man is playing a guitar.", "Someone plays the guitar on a stage in front of many people."),
        pair("A man is playing a guitar.", "The stock market fell sharply."),
        pair("Two dogs.", "Two dogs."),
    ]

    def vector(text: str) -> torch.Tensor:
        with torch.inference_mode():
            return model(**tokenizer(text, return_tensors="pt")).last_hidden_state.mean(dim=1)[0]

    expected = [float(torch.cosine_similarity(vector(p.view_a), vector(p.view_b), dim=0)) for p in pairs]
    verdicts = judge(make_filter("semantic", CPU), pairs)
    assert [score for _, score in verdicts] == pytest.approx(expected, abs=2e-4)
    between = sum(expected[:2]) / 2
    *others, same = reasons(f"semantic:min={between},max=0.999", pairs)
    assert (set(others), same) == ({None, "semantic similarity too low"}, "semantic similarity too high")


def test_semantic_belongs_to_the_weights_and_not_to_their_place() -> None:
    from augment.models.weights import find_encoder

    weights = find_encoder("starter")
    one, two = make_filter("semantic", CPU), make_filter(f"semantic:encoder={weights.path}", CPU)
    assert one.signature() == two.signature() == f"semantic:revision={weights.revision}"
    assert one.text() != two.text()
    with pytest.raises(InputError, match="its revision is"):
        make_filter("semantic:revision=0123456789ab", CPU)


def test_language_of_the_view_or_as_given() -> None:
    pytest.importorskip("py3langid")
    english, german = "The children are playing in the garden.", "Die Kinder spielen heute im Garten."
    translated = [pair(english, view, about=(PLAIN, GERMAN)) for view in (german, english)]
    found = reasons("language", [pair(english, german), *translated, pair(german, english)])
    assert found == ["view_b is not en", None, "view_b is not de", "view_a is not en"]
    assert reasons("language:a=de_AT,expect=de", [pair(german, german)]) == [None]
    assert reasons("language:certain=1", [pair(english, german)]) == [None]


def test_language_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.pairs.filters.language.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"twinviews\[lid\]"):
        make_filter("language", CPU)


SENTENCE = "The quick brown fox jumps over the lazy dog near the river bank on a sunny day."


TWICE, BY_MASK = pair(SENTENCE, SENTENCE), pair(SENTENCE, SENTENCE, about=(PLAIN, MASKED))
OTHERS = [pair(f"{word} is number {word * 3}", f"{word * 2}!") for word in ("alpha", "beta", "gamma")]


@pytest.mark.parametrize(
    ("options", "pairs", "is_dropped"),
    [
        ("", [TWICE, pair(SENTENCE.replace("sunny", "sunny,"), f"  {SENTENCE.lower()}")], True),
        ("", [pair(SENTENCE, SENTENCE.upper()), pair(SENTENCE.lower(), SENTENCE)], True),
        (
            "",
            [TWICE, pair(SENTENCE, "A view that shares no words with it, which is half of another pair.")],
            False,
        ),
        ("", [TWICE, BY_MASK], False),  # a sentence may have several views
        ("", [BY_MASK, BY_MASK], True),
        ("", [TWICE, pair(SENTENCE, SENTENCE, text="Another sentence.", about=(PLAIN, MASKED))], True),
        (":window=4", [TWICE, *OTHERS, TWICE], True),
        (":window=3", [TWICE, *OTHERS, TWICE], False),
    ],
)
def test_near_duplicates_of_kept_pairs_are_dropped(options: str, pairs: list[Pair], is_dropped: bool) -> None:
    *others, last = reasons(f"near-duplicates{options}", pairs)
    assert (others, last) == (
        [None] * len(others),
        "near-duplicate of an earlier pair" if is_dropped else None,
    )


@pytest.mark.parametrize("window", [3, 50, 1_000])
def test_near_duplicates_are_the_same_in_batches_of_any_size(window: int) -> None:
    draw = random.Random(window)
    words = [f"word{number}" for number in range(12)]
    texts = [" ".join(draw.sample(words, 8)) for _ in range(300)]
    pairs = [pair(text, text, text=str(number % 7)) for number, text in enumerate(texts)]
    whole = reasons(f"near-duplicates:threshold=0.7,window={window}", pairs)
    single = make_filter(f"near-duplicates:threshold=0.7,window={window}", CPU)
    assert whole == [judge(single, [each])[0][0] for each in pairs]
    assert 0 < sum(reason is None for reason in whole) < 300


def shingles(text: str, n: int) -> set[str]:
    padded = " ".join(text.casefold().split()).ljust(n)
    return {padded[start : start + n] for start in range(len(padded) - n + 1)}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 1))
def test_minhash_estimates_the_jaccard_similarity(seed: int, share: float) -> None:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnop", k=5)) for _ in range(60)]
    other = [word if draw.random() < share else "".join(draw.choices("qrstuvwxyz", k=5)) for word in words]
    one, two = " ".join(words), " ".join(other)
    exact = len(shingles(one, 5) & shingles(two, 5)) / len(shingles(one, 5) | shingles(two, 5))
    signatures = sign([[one], [two]], 5)
    estimate = float((signatures[0] == signatures[1]).mean())
    # Five standard deviations of a share of HASHES independent draws, and a little for rare events.
    assert abs(estimate - exact) <= 5 * (exact * (1 - exact) / HASHES) ** 0.5 + 0.03


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("nope", "unknown filter 'nope': choose one of chrf, gender, identical"),
        ("chrf:min", "'min' is not key=value"),
        ("chrf:min=x", "min='x': input should be a valid number"),
        ("chrf:min=nan", "min='nan'"),
        ("chrf:min=101", "min='101': input should be less than or equal to 100"),
        ("chrf:least=1", r"least='1': .*\(it takes min, max\)"),
        ("semantic:encoder=/nowhere", "--filter semantic: encoder /nowhere: no such folder"),
        ("near-duplicates:threshold=0", "threshold='0'"),
        ("language:expect=english", "py3langid does not know 'english'"),
    ],
)
def test_a_wrong_filter_is_one_clear_line(written: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected) as raised:
        make_filter(written, CPU)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", [name for name in FILTERS.usable_names() if name != "language"])
def test_a_filter_written_out_makes_the_same_filter(name: str) -> None:
    made = make_filter(name, CPU)
    assert made.name == name
    assert make_filter(made.text(), CPU).signature() == made.signature()
