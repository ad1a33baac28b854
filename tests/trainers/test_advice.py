"""Errors whose advice helps: what an encoder, a table or a tokenizer lacks, and how to get it."""

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding, Transformer
from small_trainings import Capsys, error_line, train, write_columns

from pipelines.base.console import InputError
from trainers import files
from trainers.data.examples import from_pairs


def saved(folder: Path, *modules: torch.nn.Module) -> Path:
    SentenceTransformer(modules=list(modules), device="cpu").save_pretrained(
        str(folder), create_model_card=False
    )
    return folder


def broken(kind: str, bert: Path, folder: Path) -> Path:
    transformer = Transformer(str(bert))
    if kind == "static":
        return saved(folder, StaticEmbedding(transformer.tokenizer, embedding_dim=8))
    if kind == "router":
        return saved(
            folder, Router.for_query_document(*([Transformer(str(bert)), Pooling(16)] for _ in range(2)))
        )
    saved(folder, transformer, Pooling(16))
    if kind == "lfs":
        (folder / "model.safetensors").write_text(
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
        )
    if kind == "half":
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:5000])
    if kind == "no pooling":
        (folder / "1_Pooling" / "config.json").unlink()
    if kind == "no padding":
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "pad_token": None}))
    if kind in ("adapter", "model2vec"):
        shutil.rmtree(folder)
        folder.mkdir()
        shutil.copy(bert / "tokenizer.json", folder)
    if kind == "adapter":
        save_file({"base_model.model.x": torch.ones(2)}, folder / "adapter_model.safetensors")
        (folder / "adapter_config.json").write_text(
            json.dumps({"base_model_name_or_path": str(bert), "peft_type": "LORA"})
        )
    if kind == "model2vec":
        save_file({"embeddings": torch.rand(94, 8)}, folder / "model.safetensors")
        (folder / "config.json").write_text(
            json.dumps({"model_type": "model2vec", "architectures": ["StaticModel"]})
        )
    return folder


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("lfs", "cannot be loaded (SafetensorError"),
        ("half", "cannot be loaded (SafetensorError"),
        ("no pooling", "cannot be loaded (TypeError: Pooling"),
        (
            "no padding",
            "has no padding token: give it one, such as its end token (tokenizer.pad_token), and save it",
        ),
        ("adapter", "is an adapter, not an encoder: merge it into its encoder with peft, and save that"),
        ("model2vec", "does not recognize this architecture"),
    ],
)
def test_an_encoder_that_cannot_be_loaded(
    kind: str, advice: str, tiny_bert: Path, tmp_path: Path, capsys: Capsys
) -> None:
    folder = broken(kind, tiny_bert, tmp_path / "broken")
    capsys.readouterr()
    assert train("evaluate", folder) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert advice in error
    assert "that has safetensors" not in error
    assert "fit together" not in error


UNREADABLE = r"cannot be loaded \(|is damaged \(|modules.json is not a list of modules"
"""What the library says, or what is said of a file that is read before it is asked."""
DAMAGED = [
    *(
        (name, content, UNREADABLE)
        for name in (
            "config.json",
            "tokenizer_config.json",
            "sentence_bert_config.json",
            "config_sentence_transformers.json",
            "modules.json",
            "1_Pooling/config.json",
        )
        for content in ("{", "", "[" * 100_000)
    ),
    *((name, "3", UNREADABLE) for name in ("config.json", "sentence_bert_config.json", "modules.json")),
    ("tokenizer_config.json", {"model_max_length": -5}, "reads at most -5 tokens"),
    ("sentence_bert_config.json", {"max_seq_length": -5}, "reads at most -5 tokens"),
    ("config.json", {"hidden_size": 32}, "its weights have other sizes than its config.json says"),
    ("config.json", {"hidden_size": "x"}, "hidden_size"),
    ("config.json", {"num_attention_heads": 0}, "ZeroDivisionError"),
    ("model.safetensors", float("nan"), "its weights are NaN or infinite"),
    ("model.safetensors", float("inf"), "its weights are NaN or infinite"),
]


@pytest.mark.parametrize(("name", "content", "cause"), DAMAGED)
def test_the_cause_of_a_damaged_encoder_is_named(
    name: str,
    content: str | float | dict[str, Any],
    cause: str,
    tiny_bert: Path,
    text_file: Path,
    tmp_path: Path,
    capsys: Capsys,
) -> None:
    folder = saved(tmp_path / "broken", Transformer(str(tiny_bert)), Pooling(16))
    path = folder / name
    if isinstance(content, float):
        tensors = load_file(path)
        tensors[max(tensors)][0] = content
        save_file(tensors, path, metadata={"format": "pt"})
    elif isinstance(content, dict):
        path.write_text(json.dumps({**json.loads(path.read_text()), **content}))
    else:
        path.write_text(content)
    capsys.readouterr()
    options = ["--text", text_file, "--batch-size", "8", "--max-tokens", "8", "--steps", "2"]
    for command in (["evaluate", folder], ["mirror", *options, "--encoder", folder, "--out", "run"]):
        assert train(*command) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert re.search(cause, error)
        assert "that has safetensors" not in error
        assert "modules.json" not in error or name == "modules.json"


@pytest.mark.parametrize("kind", ["static", "router"])
def test_an_encoder_without_a_transformer_in_front_is_not_sent_to_it(
    kind: str, tiny_bert: Path, text_file: Path, tmp_path: Path, capsys: Capsys
) -> None:
    options = ["--text", text_file, "--encoder", broken(kind, tiny_bert, tmp_path / kind), "--max-tokens", "8"]
    capsys.readouterr()
    assert train("contrastive", *options) == 2
    assert (
        "it can be evaluated as it is; train an encoder that begins with a transformer"
        in capsys.readouterr().err
    )


def test_masks_of_a_tokenizer_without_one_are_left_out_by_span_0(
    tiny_bert: Path, text_file: Path, tmp_path: Path, capsys: Capsys
) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "no mask")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "mask_token": None}))
    options = ["--text", text_file, "--encoder", folder, "--max-tokens", "8", "--out", "run"]
    assert train("mirror", *options) == 2
    assert "--span 5: the encoder's tokenizer has no mask token: give --span 0" in capsys.readouterr().err
    assert train("mirror", *options, "--preset", "no-mask", "--limit", "8", "--batch-size", "8") == 0


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_table_as_views_is_sent_to_what_makes_pairs_of_it(ending: str, capsys: Capsys) -> None:
    Path(f"anchor.{ending}").write_text("anchor,positive\na,b\n", encoding="utf-8")
    assert train("contrastive", "--views", f"anchor.{ending}") == 2
    assert f"run `augment build-pairs anchor.{ending} --pairs columns --columns LEFT,RIGHT`" in error_line(
        capsys
    )


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint8(), pa.bool_(), pa.string()])
def test_labels_may_be_numbers(kind: pa.DataType, sentences: list[str], tmp_path: Path) -> None:
    values = [None if place == 5 else place % 2 for place in range(len(sentences))]
    labels = pa.array(values, pa.int64()).cast(kind)
    columns = {name: sentences for name in ("id", "text", "view_a", "view_b", "view_a_name", "view_b_name")}
    examples = from_pairs([str(write_columns(tmp_path / "pairs.arrow", **columns, label=labels))])
    zero, one = ("false", "true") if kind == pa.bool_() else ("0", "1")
    expected = ["" if value is None else (zero, one)[value] for value in values]
    assert examples.known_labels() == expected


def test_a_line_without_an_end_is_refused(tmp_path: Path, text_file: Path, capsys: Capsys) -> None:
    long = tmp_path / "long.txt"
    long.write_text("A dog runs.\n" + "word " * 2_000_000 + "\n")
    assert train("mirror", "--text", long) == 2
    assert "long.txt line 2 is longer than 8,388,608 characters: split it" in error_line(capsys)


def test_texts_that_unpack_to_more_than_memory_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_TEXT", 1_000_000)
    (tmp_path / "bomb.txt.gz").write_bytes(gzip.compress(b"a\n" * 1_000_000))
    with pytest.raises(InputError, match="has more than 1 million bytes"):
        files.file_lines(tmp_path / "bomb.txt.gz")
