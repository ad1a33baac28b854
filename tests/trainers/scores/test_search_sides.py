"""A search gives queries and documents what the encoder has for each: prompts, or a route (a Router)."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from trainers.encoders.model import load_model
from trainers.encoders.vectors import Sided
from trainers.scores.result_files import signature
from trainers.scores.scoring import evaluate_suites
from trainers.scores.tables.judge import read_judge

PROMPTS = {"query": "old red ", "document": "the cat ", "task": "a dog "}


@pytest.fixture(scope="module", params=["prompts", "default prompt", "passage", "router"])
def searching(
    request: pytest.FixtureRequest, tiny_mlm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("searching")
    modules = [Transformer(str(tiny_mlm)), Pooling(16, "mean")]
    settings: dict[str, object] = {"prompts": PROMPTS, "default_prompt_name": "task"}
    if request.param == "default prompt":
        settings["prompts"] = {"task": "a dog "}
    elif request.param == "passage":
        settings = {"prompts": {"query": "old red ", "passage": "the cat "}}
    elif request.param == "router":
        settings = {}
        modules = [Router.for_query_document(modules, [Transformer(str(tiny_mlm)), Pooling(16, "cls")])]
    SentenceTransformer(modules=modules, device="cpu", **settings).save_pretrained(
        str(folder), create_model_card=False
    )
    return folder


@pytest.fixture
def search(sentences: list[str]) -> tuple[Path, list[str], list[str]]:
    """Each sentence without its last word asks for itself; two of them are documents too, and right."""
    documents = sorted({*sentences[:30], *(text.rpartition(" ")[0] for text in sentences[:2])})
    queries = [text.rpartition(" ")[0] for text in sentences[:30]]
    lines = [f"{query}\t{document}" for query, document in zip(queries, sentences[:30], strict=True)]
    lines += [f"{query}\t{query}" for query in queries[:2]]
    lines += [f"\t{document}" for document in documents]
    path = Path("search.tsv")
    path.write_text("\n".join(["query\tdocument", *lines]) + "\n", encoding="utf-8")
    return path, queries, documents


def test_figures_are_those_of_sentence_transformers(
    searching: Path, search: tuple[Path, list[str], list[str]], sentences: list[str]
) -> None:
    path, queries, documents = search
    (scores,) = evaluate_suites(load_model(str(searching)), [read_judge(str(path))])
    figures = [scores.values["sets"][name]["figures"]["score"] for name in ("nDCG-10", "MRR-10", "recall-100")]
    distinct = {query: str(place) for place, query in enumerate(dict.fromkeys(queries))}
    relevant: dict[str, set[str]] = {}
    for query, document in zip(queries, sentences[:30], strict=True):
        relevant.setdefault(distinct[query], set()).add(document)
    for query in queries[:2]:
        relevant[distinct[query]].add(query)
    evaluator = InformationRetrievalEvaluator(
        {number: query for query, number in distinct.items()},
        {text: text for text in documents},
        relevant,
        accuracy_at_k=[1],
        precision_recall_at_k=[100],
        map_at_k=[10],
    )
    found = evaluator(SentenceTransformer(str(searching), device="cpu").float())
    expected = [100 * found[f"cosine_{name}"] for name in ("ndcg@10", "mrr@10", "recall@100")]
    assert figures == pytest.approx(expected, abs=1e-3)


def test_sides_are_encoded_apart(searching: Path, sentences: list[str]) -> None:
    encoder, model = load_model(str(searching)), SentenceTransformer(str(searching), device="cpu").float()
    texts = [*sentences[:5], *(Sided(text, side) for side in ("query", "document") for text in sentences[:5])]
    parts = [
        model.encode(sentences[:5]),
        model.encode_query(sentences[:5]),
        model.encode_document(sentences[:5]),
    ]
    np.testing.assert_allclose(encoder.encode(texts), np.concatenate(parts), atol=1e-5)


def test_they_are_named_in_title_and_signature(
    searching: Path, search: tuple[Path, list[str], list[str]]
) -> None:
    model = SentenceTransformer(str(searching), device="cpu").float()
    encoder = load_model(str(searching))
    (scores,) = evaluate_suites(encoder, [read_judge(str(search[0]))])
    named = [
        f"{prompt!r}"
        for name, prompt in model.prompts.items()
        if name in ("query", "document", "task") and prompt
    ]
    named += ["queries and documents routed"] * ("Router" in repr(model))
    assert named
    for text in (encoder.title, signature(scores.values)):
        assert all(name in text for name in named), text
