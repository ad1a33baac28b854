"""Views by language models: what is taken of an answer, who answers, and which answers fail."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from samples import refused
from standin_llm import MODEL, Standin, standin, write_chat_model

from augment.errors import TwinviewsError
from augment.rewriting import server as server_module
from augment.rewriting.answers import Answer, read_answer
from augment.view import View, ViewResult, ViewSpec, make_view

pytest.importorskip("openai")
DOG = "A dog runs."
NUMBERS = "Anna paid 20 euros for {count} small lamps."


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("A hound races.", "A hound races."),
        (' "A hound races." \n', "A hound races."),
        ("“A hound races.”", "A hound races."),
        ("« A hound races. »", "A hound races."),
        ("Here is the sentence in other words: A hound races.", "A hound races."),
        ("Here's a paraphrase:\n\n**A hound races.**", "A hound races."),
        ("Sure! Here you go:\n1. A hound races.", "A hound races."),
        ("Paraphrase: A hound races.", "A hound races."),
        ("Rewritten sentence: 'A hound races.'", "A hound races."),
        ("- A hound races.", "A hound races."),
        ("In other words, a hound races.", "a hound races."),
        ("<think>Which words?\nA hound.</think>\n\nA hound races.", "A hound races."),
        ("Dr. Miller's hound races.", "Dr. Miller's hound races."),
        ("It is 3:30 p.m.", "It is 3:30 p.m."),
    ],
)
def test_the_sentence_of_an_answer_is_taken_without_what_is_around_it(answer: str, text: str) -> None:
    assert read_answer(answer, DOG, "en") == (text, None)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("<think>A hound</think>", "empty"),
        ("<think>A hound that never ends", "cut"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("As an AI language model, I cannot say.", "refusal"),
        ("A hound races. It is fast.", "several"),
        ("1. A hound races.\n2. A hound sprints.", "several"),
        ("A hound races.\n\nExplanation: hound is a synonym of dog.", "explanation"),
        ('This sentence is "A hound races."', "explanation"),
        ("The original sentence says that a hound races.", "explanation"),
        ("A hound races. (Note: I replaced the word dog.)", "explanation"),
        ("A hound races. This sentence keeps the meaning.", "explanation"),
    ],
)
def test_an_answer_that_is_not_one_sentence_has_a_reason(answer: str, reason: str) -> None:
    assert read_answer(answer, DOG, "en") == (None, reason)


def test_what_the_sentence_has_itself_is_left_in_the_answer() -> None:
    for sentence in (
        '"I am here."',
        "I'm sorry, but I must go.",
        "1. Open the lid.",
        "Here is the list: red, blue.",
    ):
        assert read_answer(sentence, sentence, "en") == (sentence, None)
    assert read_answer("A hound. It races.", "A dog. It runs.", "en").text == "A hound. It races."
    assert read_answer("A hound races", DOG, "en", is_cut=True).reason == "cut"


@pytest.fixture
def model() -> Iterator[Standin]:
    with standin() as server:
        yield server


def rewrite(server: Standin, **params: object) -> View:
    return make_view(
        ViewSpec("rewrite", {"model": "standin", "url": server.url, "min_meaning": 0.0, **params})
    )


def test_a_server_rewrites_every_text_once_and_says_which_model_it_has(
    model: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    view = rewrite(model)
    (row, same) = view([DOG, "Yes."], [1, 2])
    assert (row.text, row.status, same.status) == ("A hound races.", "ok", "unchanged")
    assert {*model.prompts.values()} == {1}
    assert model.keys == {"Bearer sk-secret"}
    assert f"|rev:{MODEL}|" in view.spec.signature()
    assert "secret" not in repr(view) + view.spec.signature() + str(view.spec.params)
    assert view.remarks() == ["rewrite: 20 tokens in, 10 tokens out"]


@pytest.mark.parametrize("fault", ["busy", "cut"])
def test_a_server_that_is_busy_or_hangs_up_is_asked_again(model: Standin, fault: str) -> None:
    model.fault = fault
    assert [row.text for row in rewrite(model)([DOG, "The small dog runs."], [1, 2])] == [
        "A hound races.",
        "The little hound races.",
    ]
    assert {*model.prompts.values()} == {2}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("down", "server-503"),
        ("html", "server-answer"),
        ("no choices", "server-answer"),
        ("stalls", "server-timeout"),
        ("long", "cut"),
        ("says:I cannot help with that.", "refusal"),
    ],
)
def test_a_row_without_an_answer_fails_with_its_reason(
    model: Standin, fault: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.5)
    monkeypatch.setattr(server_module, "TRIES", 0)
    model.fault = fault
    assert rewrite(model)([DOG], [1]) == [ViewResult(None, "failed", reason)]


def test_twenty_failures_in_a_row_stop_with_one_line(model: Standin) -> None:
    model.fault = "down"
    with pytest.raises(TwinviewsError, match="failed 20 times in a row \\(server-503\\)"):
        rewrite(model)([f"Dog {number} runs." for number in range(100)], range(100))
    assert sum(model.prompts.values()) < 60
    with refused("no server answers there"):
        make_view(ViewSpec("rewrite", {"model": "m", "url": "http://127.0.0.1:9/v1"}))


def test_answers_come_while_the_next_ones_are_asked_for_until_nobody_reads_them(model: Standin) -> None:
    model.pause = 0.05
    server = server_module.Server(model.url, MODEL, 0.0, 8, concurrency=2)
    prompts = [f"The dog runs {number} times." for number in range(100)]
    answers = server.write(prompts, range(100), lambda row, text, is_cut: Answer(f"{row} {text}"))
    assert next(answers).text == "0 The hound races 0 times."
    assert model.prompts.total() < 10
    answers.close()
    assert model.prompts.total() < 10


@pytest.mark.parametrize(
    ("text", "answer", "reason"),
    [
        (NUMBERS, "Anna spent 20 euros on {count} little lamps.", None),
        (NUMBERS, "Anna spent 30 euros on {count} little lamps.", "figures"),
        (NUMBERS, "Anna did not pay 20 euros for {count} small lamps.", "negation"),
        (NUMBERS, "Anna paid 20 euros for six small lamps.", "figures"),
        (NUMBERS, "Anna paid 20 euros for the small lamps.", "slots"),
        ("I met Anna at the door.", "I met her sister at the door.", "names"),
        (DOG, "A dzgo runs.", "non-word"),
        ("Did my photos come through?", "Yes, my photos came through.", "question"),
        ("My father doesn't eat meat.", "My father, who is a commoner of old, does not eat meat.", "longer"),
        (DOG, "A dog runs and a dog runs and a dog runs and a dog runs and a dog runs.", "repetition"),
        ("The old gate stands open in the morning.", "The old gate stands closed in the morning.", "meaning"),
    ],
)
def test_guards_of_round_trips_hold_for_answers(
    model: Standin, text: str, answer: str, reason: str | None
) -> None:
    model.fault = f"says:{answer}"
    for candidates in (None, 2):
        (row,) = rewrite(model, candidates=candidates)([text], [1])
        assert row.reason == reason
        assert (row.text == answer) == (reason is None)


def test_an_answer_of_another_meaning_fails_at_the_defaults(model: Standin) -> None:
    model.fault = "says:The garden of the house is full of flowers."
    (row,) = rewrite(model, min_meaning=None)([DOG], [1])
    assert (row.status, row.reason) == ("failed", "meaning")
    model.fault = "says:No dog runs."
    assert rewrite(model, min_meaning=None, means="contradiction")([DOG], [1])[0].text == "No dog runs."


def test_contradictions_and_translations_have_guards_of_their_own(model: Standin) -> None:
    model.fault = "says:No dog runs."
    view = rewrite(model, means="contradiction")
    assert view([DOG], [1])[0].text == "No dog runs."
    assert (view.keeps_meaning, view.contradicts) == (False, True)
    model.fault = "says:Ein Hund läuft."
    translated = make_view(ViewSpec("rewrite", {"model": "standin", "url": model.url, "to": "de"}))
    assert translated([DOG], [1])[0].text == "Ein Hund läuft."
    assert any("German" in prompt for prompt in model.prompts)
    model.fault = "says:The dog is running down the street."
    several = make_view(
        ViewSpec("rewrite", {"model": "standin", "url": model.url, "to": "de", "candidates": 2})
    )
    assert several(["A dog runs down the road."], [1])[0].reason == "language"


def test_a_prompt_of_the_users_is_asked_and_counts_for_the_signature(model: Standin, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("In {language}, {like this}:\n{text}", encoding="utf-8")
    view = rewrite(model, prompt=str(prompt))
    assert view([DOG], [1])[0].text == "A hound races."
    assert [*model.prompts] == ["In English, {like this}:\nA dog runs."]
    assert str(prompt) not in view.spec.signature()
    assert view.spec.signature() != rewrite(model).spec.signature()
    prompt.write_text("Paraphrase!", encoding="utf-8")
    with refused("has no {text}"):
        rewrite(model, prompt=str(prompt))


@pytest.fixture(scope="session")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small chat model."""
    folder = tmp_path_factory.mktemp("causal")
    write_chat_model(folder)
    return folder


def test_a_model_here_answers_each_row_by_its_seed_whatever_the_batch(causal: Path) -> None:
    params = {"model": str(causal), "min_meaning": 0.0, "max_tokens": 8, "temperature": 1.5}
    view = make_view(ViewSpec("rewrite", params), device="cpu")
    texts = ["a dog runs.", "the small cat sleeps in a house.", "a dog runs."] * 4
    together = view(texts, range(12))
    assert [view([text], [seed])[0] for seed, text in enumerate(texts)] == together
    assert len({row.text or row.reason for row in together}) > 3
    assert str(causal) not in view.spec.signature()
    greedy = make_view(ViewSpec("rewrite", {**params, "temperature": 0.0}), device="cpu")
    assert greedy(texts[:2], [1, 2]) == greedy(texts[:2], [3, 4])
