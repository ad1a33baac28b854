"""MarianMT: draws, batches, models, hops, long texts, second tries."""

import json
import random
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import (
    COPIED,
    DOGS,
    EMPTY,
    ENGLISH,
    FRENCH,
    GERMAN,
    GUITAR,
    LOOPING,
    PARAPHRASE,
    POSITIONS,
    real_sentences,
)

from augment.errors import InputError
from augment.meaning.figures import fault
from augment.meaning.judge import Judge
from augment.models.weights import find_encoder
from augment.text.case import plain_case
from augment.text.words import has_non_word, shared_words
from augment.translate.decoding import Decoding, Vocabulary, parse_decoding
from augment.translate.marian import (
    MarianTranslator,
    Translation,
    _joined,
    _Piece,
    copies,
    repeats,
    split,
    translated_alone,
)
from augment.translate.model_names import resolve_models
from augment.translate.pytorch import Draws, TransformersEngine
from augment.view import View, ViewResult, ViewSpec, make_view, row_seed


def drawn(
    decoding: Decoding, logits: torch.Tensor, seeds: Sequence[int], position: int, length: int = 16
) -> list[int]:
    """The token of each row at a position of its text."""
    texts = torch.zeros(len(seeds), position + 1, dtype=torch.int64)
    scores = Draws(decoding, seeds, length)(texts, logits.expand(len(seeds), -1))
    assert scores.isfinite().sum(dim=-1).tolist() == [1] * len(seeds)
    return scores.argmax(dim=-1).tolist()


def test_draws_follow_the_softmax_and_differ_by_seed_and_position() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0])
    rows = 20_000
    for position in (0, 9):
        tokens = drawn(Decoding(sampled=True, temperature=0.5), logits, range(rows), position)
        shares = torch.bincount(torch.tensor(tokens), minlength=4) / rows
        assert torch.allclose(shares, (logits / 0.5).softmax(0), atol=0.012)
    first, second = (
        torch.tensor(drawn(Decoding(sampled=True), logits, range(rows), place)) for place in (0, 1)
    )
    chance = float((logits.softmax(0) ** 2).sum())
    assert float((first == second).float().mean()) == pytest.approx(chance, abs=0.015)


@pytest.mark.parametrize(
    ("decode", "allowed"),
    [("top-k:2", {0, 1}), ("top-p:0.5", {0}), ("top-p:0.7", {0, 1}), ("sample", {0, 1, 2, 3})],
)
def test_only_tokens_that_the_options_leave_are_drawn(decode: str, allowed: set[int]) -> None:
    logits = torch.tensor([0.6, 0.2, 0.15, 0.05]).log()[[2, 0, 3, 1]]
    places = [2, 0, 3, 1]
    assert {places[token] for token in drawn(parse_decoding(decode), logits, range(3_000), 0)} == allowed


@pytest.mark.parametrize("decode", ["sample", "top-k:3", "top-p:0.9"])
def test_many_rows_are_drawn_as_each_row_alone(decode: str) -> None:
    logits, seeds = torch.randn(19, 50_000, generator=torch.manual_seed(0)), [-(2**63), *range(18)]
    decoding = parse_decoding(decode)
    alone = [drawn(decoding, logits[row], seeds[row : row + 1], 3, length=40)[0] for row in range(19)]
    assert drawn(decoding, logits, seeds, 3) == alone
    assert len({*alone}) > 9


@pytest.mark.parametrize("decode", ["greedy", "beam:4"])
def test_both_engines_find_the_same_texts(decode: str) -> None:
    ctranslate2, transformers = (
        view("translate", "starter", to="de", decode=decode, translator=name, candidates=1)
        for name in ("ctranslate2", "transformers")
    )
    assert transformers(SENTENCES, range(3)) == ctranslate2(SENTENCES, range(3))


@pytest.mark.exhaustive
def test_a_beam_search_returns_the_likeliest_texts_first(translation_models: Path) -> None:
    vocabulary = Vocabulary(translation_models / "en-xx")
    engine = TransformersEngine(translation_models / "en-xx", vocabulary, "fp32", "cpu")
    sources = vocabulary.encode([DOGS], ">>de<<")
    (texts,) = engine.search(sources, Decoding(num_beams=4, hypotheses=3), [0])
    ((best,),) = engine.search(sources, Decoding(num_beams=4), [0])
    assert (texts[0], len({*map(tuple, texts)})) == (best, 3)


def words(text: str) -> int:
    return len(text.split()) + 1


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("One two. Three four.", 9, ["One two. Three four."]),
        ("One two. Three four.", 4, ["One two.", "Three four."]),
        ('He said "No." Then he left.', 5, ['He said "No."', "Then he left."]),
        ("It is 3.5 m e.g. here. So.", 7, ["It is 3.5 m e.g. here.", "So."]),
        ("one two three, four five six", 5, ["one two three,", "four five six"]),
        ("one two three four", 3, ["one two", "three four"]),
        ("one  two   three", 2, ["one", "two", "three"]),
        ("我喜欢狗。她喜欢猫。", 6, ["我喜欢狗。", "她喜欢猫。"]),
        ("aaa\u0301aa", 4, ["aaa\u0301", "aa"]),
    ],
)
def test_texts_are_split_where_a_reader_would(text: str, limit: int, expected: list[str]) -> None:
    assert split(text, words if " " in text else len, limit) == expected


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab .,!?。\u0301\u200d\n"), max_size=80), st.integers(1, 12))
def test_pieces_fit_and_nothing_but_white_space_is_lost(text: str, limit: int) -> None:
    pieces = split(text, len, limit)
    assert all(0 < len(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_repetition_counts_only_beyond_the_source_s_own() -> None:
    loop = [1, 2, 3] * 5
    assert repeats(loop, [4, 5, 6])
    assert not repeats(loop, loop)
    assert not repeats(list(range(20)), [4])


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("The old woman bought a car", "the old woman bought a car.", True),
        ("The old womn bought a car.", "The old woman bought a car.", True),
        ("Die alte Frau kaufte ein Auto.", "The old woman bought a car.", False),
        ("Barack Obama", "Barack Obama", False),
    ],
)
def test_copies_are_texts_like_their_source(text: str, source: str, expected: bool) -> None:
    assert copies(text, source) is expected


SENTENCES = [
    "A man is riding a bicycle down the street.",
    "Where did you buy this book?",
    "The weather is nice today.",
]


def view(name: str, models: Path | str, batch_tokens: int | None = None, **params: Any) -> View:  # noqa: ANN401
    given = {"models": str(models), "precision": "fp32", **params}
    return make_view(ViewSpec(name, given), batch_tokens=batch_tokens)


def back(models: Path | str, batch_tokens: int | None = None, **params: Any) -> View:  # noqa: ANN401
    return view("backtranslate", models, batch_tokens, **{"pivot": "de", **params})


def test_several_hops_follow_each_other(translation_models: Path) -> None:
    there_and_back = back(translation_models, pivot="de+en+fr")
    (row,) = there_and_back([DOGS, GUITAR], [0, 1])[:1]
    assert (row.text, row.pivot) == (ENGLISH[FRENCH[DOGS]], FRENCH[DOGS])
    assert [one.pivot for one in view("translate", translation_models, to="de+en+fr")([DOGS], [0])] == [DOGS]
    revisions = str(there_and_back.spec.params["revision"]).split("+")
    assert revisions == revisions[:2] * 2


GREEDY = {"candidates": 1, "min_meaning": 0.0}


@pytest.mark.exhaustive
def test_draws_depend_on_the_seed_in_every_leg() -> None:
    drawn = back("starter", decode="top-p:0.9", **GREEDY)
    first, second = drawn(SENTENCES[:1] * 2, [row_seed(7, row, "") for row in "01"])
    assert first != second
    assert first.pivot != second.pivot


@pytest.mark.exhaustive
@pytest.mark.parametrize("decode", ["beam:4", "top-k:20"])
def test_strict_texts_depend_on_neither_batch_nor_threads(decode: str) -> None:
    texts, seeds = SENTENCES, [0, 1, 2]
    threads, made = torch.get_num_threads(), []
    try:
        for count, batch_tokens in ((1, 1), (2, 100_000)):
            torch.set_num_threads(count)
            translate = view(
                "translate", "starter", batch_tokens, to="de", decode=decode, precision="fp64", **GREEDY
            )
            made.append(translate(texts, seeds))
    finally:
        torch.set_num_threads(threads)
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("text", "translations", "target", "joined"),
    [
        (
            "A girl reads a book; a boy runs.",
            ["Une fille lit.", "Un garçon court."],
            "fr",
            "Une fille lit; un garçon court.",
        ),
        (
            "A girl reads; A boy runs.",
            ["Une fille lit", "Un garçon court."],
            "fr",
            "Une fille lit; Un garçon court.",
        ),
        ("They run; he sits.", ["Ils courent;", "NASA s'assied."], "fr", "Ils courent; NASA s'assied."),
        ("Ils courent; je dors.", ["They run.", "I sleep."], "en", "They run; I sleep."),
        ("They run; boys sit.", ["Sie laufen.", "Jungen sitzen."], "de", "Sie laufen; Jungen sitzen."),
        ("She runs; he sits;", ["她跑步。", "他坐着"], "zh", "她跑步；他坐着；"),
        (
            "Tom &amp; Anna run &quot;here&quot; now.",
            ["Tom &amp; Anna courent."],
            "fr",
            "Tom &amp; Anna courent.",
        ),
    ],
)
def test_semicolons_stay_between_clauses(
    translation_models: Path, text: str, translations: list[str], target: str, joined: str
) -> None:
    translator = MarianTranslator(translation_models / "en-xx")
    pieces = translator._pieces(text, 0, translator.vocabulary.encode([text])[0])
    assert len(pieces) == len(translations)
    assert all(";" not in piece.text for piece in pieces if piece.is_clause)
    assert _joined(pieces, [*map(Translation, translations)], target).text == joined


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        (["他在跑步。", "她在唱歌。"], "他在跑步。她在唱歌。"),
        (["他说：“好。”", "她走了，", "NASA也是。"], "他说：“好。”她走了，NASA也是。"),
        (["走る。", "ｶﾀｶﾅ", "カタカナ"], "走る。ｶﾀｶﾅカタカナ"),
        (["그는 달린다.", "그녀는 노래한다."], "그는 달린다. 그녀는 노래한다."),
        (["Nice 😀", "Two dogs run."], "Nice 😀 Two dogs run."),
    ],
)
def test_pieces_are_joined_as_their_script_is_written(pieces: list[str], joined: str) -> None:
    assert _joined([_Piece("a", (), 0)] * len(pieces), [*map(Translation, pieces)], "") == Translation(joined)


def test_a_retried_translation_is_marked_and_is_not_the_source() -> None:
    texts = [
        "The news also comes in conjunction with our annual developers conference in San Francisco.",
        "Its launch sales doubled that of an older racing game.",
        "Negotiators said they made good progress during their latest round of talks on creating a free trade area.",
        "Excavated in Li Village, Mei County, Shaanxi, it is on display in the National Museum of China.",
        "I urge Congress to quickly resolve any differences and send me the final bill so that I can sign it into law.",
        *SENTENCES,
    ]
    given = {"to": "fr", **GREEDY}
    views = view("translate", "starter", **given)(texts, range(len(texts)))
    retried = [(text, viewed) for text, viewed in zip(texts, views, strict=True) if viewed.reason == "retried"]
    assert retried
    assert all(viewed.status == "ok" and viewed.text != text for text, viewed in retried)


@pytest.mark.exhaustive
def test_long_texts_are_translated_sentence_by_sentence(translation_models: Path) -> None:
    (row,) = back(translation_models)([" ".join([GUITAR, DOGS] * 2_500)], [0])  # 100,000 characters
    assert row.pivot == " ".join([GERMAN[GUITAR], GERMAN[DOGS]] * 2_500)
    assert row.text == " ".join([PARAPHRASE, DOGS] * 2_500)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("engine", "precision", "decode"),
    [
        *product(["transformers"], ["fp32"], ["greedy", "beam:3", "top-k:5"]),
        ("transformers", "fp64", "beam:3"),
        ("transformers", "bf16", "greedy"),
        *product(["ctranslate2"], ["fp32", "int8"], ["greedy", "beam:3"]),
    ],
)
def test_a_translation_ignores_its_batch(
    translation_models: Path, engine: str, precision: str, decode: str
) -> None:
    words, draw = " ".join([*GERMAN, *FRENCH.values()]).split(), random.Random(7)
    texts = [" ".join(draw.choices(words, k=draw.randint(1, 14))) for _ in range(40)]
    given = translation_models / "en-xx", ">>de<<", parse_decoding(decode), engine, precision
    alone, together = (MarianTranslator(*given, batch_tokens=batch_tokens) for batch_tokens in (1, 100_000))
    seeds = list(range(len(texts)))
    expected = alone.translate(texts, seeds)
    assert len({translation.text for translation in expected}) > 10
    assert together.translate(texts, seeds) == expected
    assert together.translate(texts[::-1], seeds[::-1]) == expected[::-1]


@pytest.mark.parametrize("engine", ["ctranslate2", "transformers"])
def test_sources_as_long_as_the_model_and_longer_are_translated(translation_models: Path, engine: str) -> None:
    translator = MarianTranslator(translation_models / "xx-en", engine=engine, precision="fp32")
    texts = ["Hun" + "d" * count for count in range(1, 500)]
    lengths = [len(ids) for ids in translator.vocabulary.encode(texts)]
    at, longer, empty = translator.translate([texts[lengths.index(POSITIONS)], texts[-1], "  "])
    assert at.text
    assert longer.text
    assert empty == Translation("", "empty")
    there = MarianTranslator(translation_models / "en-xx", ">>de<<", engine=engine, precision="fp32")
    (translation,) = there.translate([">>fr<< " + GUITAR])  # a code in the text is text
    assert translation.text != FRENCH[GUITAR]
    assert ">>" not in translation.text


def test_back_translation_gives_every_sentence_a_status_and_a_reason(translation_models: Path) -> None:
    views = back(translation_models)([GUITAR, DOGS, COPIED, LOOPING, EMPTY], range(5))
    (copied,) = view("translate", translation_models, to="de")([COPIED], [0])
    assert (copied.text, copied.status, copied.reason) == (None, "failed", "copied")
    assert [(viewed.status, viewed.reason, viewed.text, viewed.pivot) for viewed in views] == [
        ("ok", None, PARAPHRASE, GERMAN[GUITAR]),
        ("unchanged", None, DOGS, GERMAN[DOGS]),
        ("failed", "pivot-copied", None, None),
        ("failed", "figures", None, "ja ja"),
        ("failed", "nothing-to-translate", None, "."),
    ]


def test_the_signature_names_the_weights_and_no_path(translation_models: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(translation_models, moved)
    here = back(translation_models).spec
    assert here.signature() == back(moved).spec.signature()
    libraries = ("sentencepiece", "sentencex", "ctranslate2", "lemminflect", "wordfreq")
    pieces, ends, engine, lemmas, words = map(version, libraries)
    middle = f"candidates:1|ctranslate2:{engine}|decode:greedy|diverse:false|lemminflect:{lemmas}|"
    middle += "min_meaning:0.0|pivot:de|precision:fp32|"
    middle += f"sentencepiece:{pieces}|sentencex:{ends}|source:en|translator:ctranslate2|wordfreq:{words}"
    assert here.signature().startswith(f"view:backtranslate|{middle}|rev:")
    settings = json.loads((moved / "xx-en" / "config.json").read_text(encoding="utf-8"))
    (moved / "xx-en" / "config.json").write_text(
        json.dumps({**settings, "scale_embedding": False}), encoding="utf-8"
    )
    assert back(moved).spec.signature() != here.signature()
    with pytest.raises(InputError, match="revision"):
        make_view(ViewSpec("backtranslate", {**here.params, "models": str(moved)}))


def test_folders_named_by_their_languages_are_found(translation_models: Path, tmp_path: Path) -> None:
    for name, source, target in (("en-es", "en", "es"), ("opus-mt-es-en", "es", "en")):
        (tmp_path / name).symlink_to(translation_models / "xx-en")
        assert resolve_models(str(tmp_path), source, target)[:2] == (tmp_path / name, None)


NON_WORDS = (
    "The mole is leaning over the engine.",
    "He learned to add at three.",
    "A good fortress can stand a siege.",
)
CHOSEN = [*SENTENCES, "The dog sleeps under the table.", "It took us five hours to drive there.", *NON_WORDS]


@cache
def chosen(**params: Any) -> list[ViewResult]:  # noqa: ANN401
    return back("starter", **params)(CHOSEN, range(len(CHOSEN)))


def test_the_candidate_that_means_most_alike_is_the_view() -> None:
    views = chosen(min_meaning=0.0)
    judge = Judge(find_encoder("starter"), "ctranslate2", "fp32", "cpu")
    greedy = chosen(**GREEDY)
    better = 0
    for text, view, alone in zip(CHOSEN, views, greedy, strict=True):
        assert (view.status, view.text == text) == ("ok", False)
        assert not any(has_non_word(form, "en", text) for form in (view.text or "", *view.alternatives))
        scores = judge.scores([text], [[view.text or "", *view.alternatives, alone.text or ""]])[0]
        own = scores.pop(view.text or "")
        assert all(own >= scores[form] for form in view.alternatives)
        better += own > scores.get(alone.text or "", 1.0)
    assert better > len(CHOSEN) // 3
    assert any(view.alternatives for view in views)


@pytest.mark.exhaustive
@pytest.mark.parametrize("pivot", ["de", "fr"])
def test_a_floor_of_meaning_fails_rows_and_changes_no_other(pivot: str) -> None:
    free, held, none = (chosen(pivot=pivot, min_meaning=floor) for floor in (0.0, 0.9, 1.0))
    judge = Judge(find_encoder("starter"), "ctranslate2", "fp32", "cpu")
    for text, one, other in zip(CHOSEN, free, held, strict=True):
        passes = judge.scores([text], [[one.text or ""]])[0][one.text or ""] >= 0.9
        assert (other.text, other.reason) == ((one.text, None) if passes else (None, "meaning"))
        assert other.pivot == one.pivot or not passes
    assert {view.status for view in held} == {"ok", "failed"}
    assert {view.text for view in none if view.status == "ok"} < {view.text for view in held}


@pytest.mark.exhaustive
def test_a_view_with_a_word_that_is_none_fails_if_there_is_no_other() -> None:
    texts = real_sentences(60)
    greedy = back("starter", **GREEDY)(texts, range(60))
    held = back("starter", candidates=1, min_meaning=0.001)(texts, range(60))
    bad = [
        has_non_word(view.text or "", "en", text) and view.status == "ok"
        for text, view in zip(texts, greedy, strict=True)
    ]
    assert [view.reason == "non-word" for view in held] == bad
    assert any(bad)
    chosen_views = back("starter", min_meaning=0.0)(texts, range(60))
    assert sum(view.reason == "non-word" for view in chosen_views) < sum(bad)


def test_a_round_trip_with_an_antonym_is_never_chosen() -> None:
    text, *forms = (f"Please {verb} the window, I'm cold." for verb in ("close", "open", "shut"))
    rows = [[ViewResult(form) for form in forms], [ViewResult(forms[0])]]
    first, second = back("starter", min_meaning=0.0)._chosen([text, text], rows)  # type: ignore[attr-defined]
    assert (first.text, first.alternatives) == (forms[1], ())
    assert (second.status, second.reason) == ("failed", "meaning")


@pytest.mark.exhaustive
@pytest.mark.parametrize("precision", ["int8", "fp32", "fp64"])
def test_a_choice_ignores_its_batch(precision: str) -> None:
    texts = [
        *CHOSEN,
        GUITAR,
        "The guitar, which nobody had played for years, was still in tune when she picked it up.",
    ]
    settings = {"precision": precision, "min_meaning": 0.5}
    expected = back("starter", 1, **settings)(texts, range(len(texts)))
    together = back("starter", 100_000, **settings)
    assert together(texts[::-1], range(len(texts)))[::-1] == expected
    assert [together([text], [0])[0] for text in texts[:3]] == expected[:3]


def test_a_diverse_choice_shares_fewest_words() -> None:
    plain, diverse = (chosen(min_meaning=0.7, diverse=flag) for flag in (False, True))
    for text, view in zip(CHOSEN, diverse, strict=True):
        if view.text is not None:
            shares = [shared_words(form, text) for form in (view.text, *view.alternatives)]
            assert shares == sorted(shares)
    assert [view.text for view in plain] != [view.text for view in diverse]


@pytest.mark.exhaustive
def test_another_encoder_judges_and_is_named_by_its_revision(encoder_folder: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(encoder_folder, tmp_path / "elsewhere")
    here, there = (back("starter", judge_encoder=str(path), candidates=2) for path in (encoder_folder, moved))
    assert here.spec.signature() == there.spec.signature()
    assert f"judge_encoder:{find_encoder(str(moved)).revision}|" in here.spec.signature()
    assert here(CHOSEN, range(len(CHOSEN))) == there(CHOSEN, range(len(CHOSEN)))
    (german,) = view("translate", "starter", to="de", judge_encoder=str(moved))(SENTENCES[:1], [0])
    assert german.status == "ok"


def test_a_translation_takes_the_likeliest_of_known_words(translation_models: Path) -> None:
    beam, best = (
        view("translate", "starter", to="de", **params)(CHOSEN, range(len(CHOSEN)))
        for params in ({"decode": "beam:4", **GREEDY}, {})
    )
    for text, first, view_of_it in zip(CHOSEN, beam, best, strict=True):
        assert not has_non_word(view_of_it.text or "", "de", text)
        if first.text and not has_non_word(first.text, "de", text):
            assert view_of_it.text == first.text
    assert view("translate", translation_models, to="de").spec.params["candidates"] == 1


ROWS = [
    ("Two dogs are running. A cat is sleeping.", 2),
    ("A man is eating. A woman is singing. A boy is jumping.", 3),
    ("A man is riding a horse.\n\nTwo dogs are playing in the snow.\n\nA boy is swimming.", 3),
    ("Where is the station? It is behind the church. Thank you!", 3),
    ("Tom is here. 😀 He is happy. 😀", 2),
    ("A girl is reading a book; a boy is riding a bike, and their mother is cooking.", 2),
]


def letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.lower()))


@pytest.mark.parametrize("to", ["de", "fr"])
def test_every_sentence_of_a_row_is_translated_as_if_alone(to: str) -> None:
    translate = view("translate", "starter", to=to, **GREEDY)
    for row, (text, number) in zip(translate([text for text, _ in ROWS], [0] * len(ROWS)), ROWS, strict=True):
        pieces = translated_alone(text, "en")
        assert len(pieces) == number
        alone = "".join(
            str(piece.text) for piece in translate([piece.strip(";") for piece in pieces], [0] * number)
        )
        assert letters(str(row.text)) == letters(alone)
        assert str(row.text).count(";") == text.count(";")


@pytest.mark.parametrize(
    ("text", "language", "pieces"),
    [
        ("Mr. Smith met Dr. Who at 7 p.m. on Monday.", "en", 1),
        ("The U.S. Army arrived. J. R. R. Tolkien wrote it.", "en", 2),
        ("Er kam am 3. Mai. Sie blieb.", "de", 2),
        ("Visit www.example.org. Now.", "en", 2),
        ("...", "en", 1),
        ("One line\nand another", "en", 2),
        ("He came; she left. They met; 5; ...", "en", 3),
    ],
)
def test_a_row_is_cut_where_its_sentences_end(text: str, language: str, pieces: int) -> None:
    assert len(translated_alone(text, language)) == pieces


NOTHING_THERE = [
    "-",
    "?",
    "😀",
    "$$$",
    "12:30",
    "300",
    "两只狗在跑。",
    "Два пса бегут по пляжу.",
    "كلبان يركضان",
    "२ कुत्ते",
]


@pytest.mark.parametrize("make", [back, lambda models: view("translate", models, to="fr")])
def test_a_row_without_words_that_the_model_knows_is_not_translated(make: Callable[..., View]) -> None:
    views = make("starter")([*NOTHING_THERE, "Zwei 😀 dogs."], [0] * (len(NOTHING_THERE) + 1))
    reasons = [(viewed.text, viewed.status, viewed.reason) for viewed in views[:-1]]
    assert reasons == [(None, "failed", "nothing-to-translate")] * len(NOTHING_THERE)
    assert views[-1].reason != "nothing-to-translate"


@pytest.mark.parametrize(
    ("sentence", "text", "reason"),
    [
        ("The train leaves at 19:30.", "The train leaves at seven.", "figures"),
        ("There were 300 people.", "There were 30 people.", "figures"),
        ("There were 300 people.", "There were three hundred people.", None),
        ("Two dogs run.", "2 dogs run.", None),
        ("Two dogs run.", "A dog runs.", "figures"),
        ("It cost $1,000.", "It cost 1000 dollars.", None),
        ("He is twenty-five.", "He is 25.", None),
        ("He was born in 1961.", "He was born in 1916.", "figures"),
        ("No one came at 7:00.", "Nobody came at 7.", None),
        ("He did not eat.", "He ate.", "negation"),
        ("He isn’t here.", "He is not here.", None),
        ("He can't go.", "He is unable to go.", None),
        ("A man sings.", "A man never sings.", "negation"),
        ("A girl is reading and a boy is riding a bike.", "A girl is reading.", "shorter"),
    ],
)
def test_what_an_encoder_does_not_see(sentence: str, text: str, reason: str | None) -> None:
    assert fault(sentence, text) == reason


def test_a_single_word_is_no_translation_of_a_sentence() -> None:
    assert fault("I am here today.", "I", "en", "fr") == fault("Wir sind da!", "A.", "de", "en") == "shorter"
    assert (
        fault("Thank you all.", "Danke.", "en", "de") is fault("How are you?", "你好吗？", "en", "zh") is None
    )


@pytest.mark.parametrize(
    ("sentence", "text", "reason"),
    [
        ("Two dogs at 19:30.", "Zwei Hunde um 19.30 Uhr.", None),
        ("Two dogs at 19:30.", "Zwei Hunde um sieben Uhr.", "figures"),
        ("It cost 5,000 dollars.", "Es kostete 5.000 Dollar.", None),
        ("A cat is asleep on the sofa, and a dog is not.", "Eine Katze.", "shorter"),
        ("I'm a bit tipsy.", "I", "shorter"),
        ("Good morning!", "Guten Tag!", None),
        ("He does not sleep.", "Er schläft nicht.", None),
    ],
)
def test_figures_of_a_translation_are_compared(sentence: str, text: str, reason: str | None) -> None:
    assert fault(sentence, text, "en", "de") == reason


@pytest.mark.parametrize(
    ("text", "plain", "view", "back_in_case"),
    [
        ("TWO DOGS ARE RUNNING.", "Two dogs are running.", "Two dogs run.", "TWO DOGS RUN."),
        ("THE CHILD BOUGHT A CAR.", "The child bought a car.", "A child buys it.", "A CHILD BUYS IT."),
        ("Old Car Sold At The Big Market", "Old car sold at the big market", "A car is sold", "A Car Is Sold"),
        (
            "Dog Finds Its Way to the River",
            "Dog finds its way to the river",
            "The dog finds it",
            "The Dog Finds it",
        ),
        ("NASA Sends Small Robot to Mars", "NASA sends small robot to mars", "NASA sends it", "NASA Sends it"),
        (
            "McDonald's Tells US Staff to Vote",
            "McDonald's tells US staff to vote",
            "US staff vote",
            "US Staff Vote",
        ),
        ("WHO Warns of New Flu in IT", "WHO warns of new flu in IT", "WHO warns", "WHO Warns"),
        (
            "Apple Sells New iPhone in a Well-Known Shop",
            "Apple sells new iPhone in a well-known shop",
            "a",
            "A",
        ),
        ("The SMALL child", "The SMALL child", "A child", "A child"),
        ("Barack Obama visits Paris", "Barack Obama visits Paris", "He goes", "He goes"),
        ("NASA", "NASA", "NASA", "NASA"),
        ("Zwei Hunde laufen am Strand.", "Zwei Hunde laufen am Strand.", "x", "x"),
    ],
)
def test_capitals_come_off_and_back(text: str, plain: str, view: str, back_in_case: str) -> None:
    found, case = plain_case(text)
    assert (found, case(view)) == (plain, back_in_case)


def test_a_line_in_capitals_is_translated_like_its_plain_text() -> None:
    plain, loud = back("starter")(
        ["Two dogs are running on the beach.", "TWO DOGS ARE RUNNING ON THE BEACH."], [0, 0]
    )
    assert plain.status == loud.status == "ok"
    assert loud.text == str(plain.text).upper()
    assert loud.alternatives == tuple(map(str.upper, plain.alternatives))
