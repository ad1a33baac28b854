"""Pairs as values: what a policy makes of a sentence, and that the function and the command give the same rows."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import datasets
import pytest
from foreigners import Augment, is_refused, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

import pipelines
from augment import InputError, ViewResult, ViewSpec
from pipelines.pairs.candidates import _settled
from pipelines.pairs.pair import Sentence
from pipelines.pairs.policies import usual_policy, view_pairs
from pipelines.pairs.views import ChosenView
from pipelines.storage.dataset import Plan

SAMPLE = Path(pipelines.__file__).parent / "sample" / "sentences.txt"
SENTENCES = SAMPLE.read_text(encoding="utf-8").splitlines()[:12]
TRIPS = ["backtranslate-de", "backtranslate-fr"]

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "the sentence"]), max_size=4, unique=True)


def viewed(*views: Sequence[str]) -> Sentence:
    """A sentence with views "x" and "y" of these texts each; without texts a view failed."""
    results = [
        ViewResult(texts[0], alternatives=tuple(texts[1:])) if texts else ViewResult(None, "failed", "empty")
        for texts in views
    ]
    return Sentence("1", "the sentence", dict(zip("xy", results, strict=True)))


@settings(deadline=None)
@given(TEXTS, TEXTS, st.booleans(), st.booleans())
def test_alternatives_of_a_sentence_are_paired_once(
    left: list[str], right: list[str], alternatives: bool, default_filters: bool
) -> None:
    specs = {name: ViewSpec("backtranslate", {"pivot": name}) for name in "xy"}
    pairs = view_pairs("bsl", specs, None, default_filters=default_filters)
    pairs = replace(pairs, alternatives="xy" if alternatives else "")
    kept = [one for one in _settled(pairs.candidates([viewed(left, right)])) if one.reason is None]
    sides = [(one.view_a, one.view_b) for one in kept]
    assert len({*sides}) == len(sides)


def test_an_alternative_is_no_second_pair_of_texts_that_are_paired() -> None:
    specs = {name: ViewSpec("backtranslate", {"pivot": name}) for name in "xy"}
    pairs = replace(view_pairs("bsl", specs, None), alternatives="xy")
    candidates = pairs.candidates([viewed(["a", "b"], ["c"])])
    own = [(one.view_a, one.view_b) for one in candidates if not one.is_spare]
    spare = [(one.view_a, one.view_b) for one in candidates if one.is_spare]
    assert own == [("a", "c"), ("b", "c")]
    assert spare == [("the sentence", "a"), ("the sentence", "c")]


POLICIES = [
    ("original", ["repeat", "span-mask"], {}),
    ("original", ["repeat"], {"negative_view": "span-mask", "filter": ["chrf:max=99"]}),
    ("best", ["repeat", "span-mask"], {"filter": ["length-ratio"]}),
    ("bsl", ["repeat", "span-mask"], {"filter": ["near-duplicates"], "default_filters": False}),
    ("self", [], {}),
    pytest.param("best", TRIPS, {}, marks=pytest.mark.exhaustive),
    pytest.param("bsl", TRIPS, {"seed": 0}, marks=pytest.mark.exhaustive),
    pytest.param("multilingual", ["translate-de"], {}, marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("policy", "views", "options"), POLICIES)
def test_the_function_gives_what_the_command_gives(
    augment: Augment, policy: str, views: list[str], options: dict[str, object]
) -> None:
    """Nothing is written or read by the function, also where files of these names are there."""
    Path("lines.txt").write_text(
        "".join(f"{text}\n" for text in [*SENTENCES, "", SENTENCES[2]]), encoding="utf-8"
    )
    flags = [f"--view={view}" for view in views] + [f"--filter={text}" for text in options.get("filter", ())]  # type: ignore[attr-defined]
    flags += ["--no-default-filters"] if "default_filters" in options else []
    flags += [f"--negative-view={options['negative_view']}"] if "negative_view" in options else []
    done = augment("build-pairs", "lines.txt", "--pairs", policy, *flags)
    assert done.code == 0, done.err
    files = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    pairs = pipelines.make_pairs([*SENTENCES, " ", SENTENCES[2]], views, pairs=policy, **options)  # type: ignore[arg-type]
    assert pairs.to_list() == rows_of("data/pairs.arrow")
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == files


def test_the_best_view_is_paired_and_the_next_one_if_it_is_dropped(augment: Augment) -> None:
    """Against the cosines of each view, asked for one by one."""
    options = {"pairs": "original", "filter": ["semantic"], "default_filters": False}
    every = pipelines.make_pairs(SENTENCES, ["repeat", "span-mask"], **options)  # type: ignore[arg-type]
    best = pipelines.make_pairs(SENTENCES, ["repeat", "span-mask"], pairs="best")
    assert {row["view_b_name"] for row in best} == {"repeat", "span-mask"}
    assert len(best) == len({row["id"] for row in best})
    unlike = {(row["id"], row["view_b"]) for row in every if row["view_b"] != row["text"]}
    assert {(row["id"], row["view_b"]) for row in best} <= unlike
    assert {row["id"] for row in best} == {id for id, _ in unlike}


def test_round_trips_of_the_bundled_models_are_paired_with_their_sentence_by_default() -> None:
    trips = [ViewSpec("backtranslate", {"pivot": pivot, "models": "starter"}) for pivot in ("de", "fr")]
    assert usual_policy(trips) == "best"
    assert usual_policy([trips[0], ViewSpec("backtranslate", {"pivot": "fr", "models": "opus-mt"})]) == "bsl"
    assert usual_policy([ViewSpec("span-mask"), ViewSpec("repeat")]) == "bsl"


def test_a_missing_view_is_made_like_the_first_of_its_name_whatever_stands_before_it() -> None:
    def made(name: str, **params: int) -> ChosenView:
        plan = Plan(kind="view", name=name, params=params, shard_size=1, inputs=())
        return ChosenView(ViewSpec(name, params), plan)

    missing = ChosenView(ViewSpec("slow"), None)
    other, first, second = made("repeat"), made("slow", nap=1), made("slow", nap=2)
    for views in (
        [other, missing, first, second],
        [missing, first, other, second],
        [first, second, missing, other],
    ):
        assert missing.twin(views) is first.plan
    assert missing.twin([other, missing]) is None
    assert second.twin([first, second]) is second.plan


@pytest.mark.parametrize("policy", ["original", "bsl", "best"])
def test_a_contradiction_is_never_a_positive(augment: Augment, policy: str) -> None:
    Path("a.csv").write_text("text,label\nA man sleeps.,x\nA dog runs.,x\nTwo cats sit.,y\nA boy eats.,y\n")
    views = ["--view=contradiction", *(["--view=repeat"] if policy == "bsl" else [])]
    done = augment("build-pairs", "a.csv", "--pairs", policy, *views)
    if "WordNet was not found" in done.err:
        pytest.skip(done.err)
    is_refused(done, "give it as --negative-view contradiction")
    with pytest.raises(InputError, match="contradicts its sentences"):
        pipelines.make_pairs(["A man sleeps."], ["contradiction"])


@pytest.mark.parametrize("policy", ["original", "best"])
def test_a_sentence_without_a_usable_view_is_paired_with_itself_for_its_negative(
    augment: Augment, policy: str
) -> None:
    """Of four sentences one has a view that is kept, one an echo, one a view that failed, and one no negative."""
    Path("lines.txt").write_text("A man sleeps.\nA dog runs.\nTwo cats sit.\nA boy eats.\n", encoding="utf-8")
    views = [
        ("A man sleeps.", "A man is asleep."),
        ("A dog runs.", "a dog runs"),
        ("A boy eats.", "A boy eats."),
    ]
    negatives = [("A man sleeps.", "Nobody sleeps."), ("A dog runs.", "No dog."), ("Two cats sit.", "No cat.")]
    for name, rows in {"view": views, "other": negatives}.items():
        lines = [json.dumps({"text": text, "view": view}) for text, view in rows]
        Path(f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
        augment("import-views", "lines.txt", "--file", f"{name}.jsonl", "--by", name)
    build = ["build-pairs", "lines.txt", "--pairs", policy, "--view", "import-views-view"]
    build += ["--negative-view", "import-views-other"]
    done = augment(*build)
    assert done.code == 0, done.err
    assert [
        (row["view_a"], row["view_b"], row["view_b_name"], row["negative"])
        for row in rows_of("data/pairs.arrow")
    ] == [
        ("A man sleeps.", "A man is asleep.", "import-views-view", "Nobody sleeps."),
        ("A dog runs.", "A dog runs.", "original", "No dog."),
        ("Two cats sit.", "Two cats sit.", "original", "No cat."),
    ]
    assert "kept: the sentence itself 2" in " ".join(done.out.split())


@pytest.mark.parametrize(
    "run",
    [
        ["faq.csv", "--pairs", "columns", "--columns", "text,answer"],
        ["faq.csv", "--pairs", "original", "--view", "import-views-x"],
        ["faq.csv", "--pairs", "original", "--view", "repeat"],
        ["nli.tsv", "--pairs", "entailment"],
    ],
)
def test_echoes_are_dropped_whatever_is_paired(augment: Augment, run: list[str]) -> None:
    texts = [(text, echo) for text in SENTENCES for echo in (text, f"{text.upper()} ", f"{text} Yes.")]
    Path("faq.csv").write_text("text,answer\n" + "".join(f'"{text}","{echo}"\n' for text, echo in texts))
    Path("nli.tsv").write_text(
        "gold_label\tsentence1\tsentence2\n" + "".join(f"entailment\t{text}\t{echo}\n" for text, echo in texts)
    )
    lines = [json.dumps({"text": text, "view": echo}) for text, echo in texts[1:]]
    Path("x.jsonl").write_text("\n".join(lines))
    if "import-views-x" in run:
        augment("import-views", "faq.csv", "--file", "x.jsonl", "--by", "x")
    done = augment("build-pairs", *run, "--json")
    assert done.code == 0, done.err
    counts = json.loads(done.out)
    assert {reason for reason in counts["dropped"] if reason.startswith("identical")}
    assert all(row["view_a"].casefold() != row["view_b"].casefold() for row in rows_of("data/pairs.arrow"))
    if "columns" in run:
        assert counts["dropped"] == {"identical pair": 12, "identical but for case and punctuation": 12}


def test_two_columns_of_any_dataset_are_written_as_pairs(folder: Path) -> None:
    rows = {"title": ["Pay", "Go"], "body": ["How to pay.", "Where to go."], "score": [0.5, None]}
    table = datasets.Dataset.from_dict(rows)
    pipelines.write_pairs(table, "own.arrow", ("title", "body"))
    pairs = pipelines.read_pairs("own.arrow").to_list()
    assert [(row["text"], row["view_a"], row["view_b"], row["score"]) for row in pairs] == [
        ("Pay", "Pay", "How to pay.", 0.5),
        ("Go", "Go", "Where to go.", None),
    ]
    assert {(row["view_a_name"], row["view_b_name"]) for row in pairs} == {("title", "body")}
    assert len({row["id"] for row in pairs}) == 2
    pipelines.write_pairs(table.remove_columns("score"), "own.arrow")
    assert len(pipelines.read_pairs("own.arrow")) == 2
    with pytest.raises(InputError, match="has the columns title, body, score: name two"):
        pipelines.write_pairs(table, "own.arrow")
    with pytest.raises(InputError, match=r"row 1 of the dataset lacks a text, \('b', None\)"):
        pipelines.write_pairs(datasets.Dataset.from_dict({"x": ["a", "b"], "y": ["c", None]}), "own.arrow")
