"""What tests of trainers share: a tiny BERT, every objective on it, the real `fit`, and the command `train`."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, BertConfig, BertForMaskedLM, BertTokenizerFast, set_seed

from pipelines.base.console import call
from trainers.cli.app import app
from trainers.data.examples import Examples, Rows
from trainers.encoders.location import locate
from trainers.encoders.modules import set_dropout
from trainers.objective import Objective
from trainers.scores.task import Task
from trainers.settings import Training, load_objective, resolve
from trainers.training.fit import Fitted, fit

Capsys = pytest.CaptureFixture[str]
SMALL = {"batch_size": 8, "max_tokens": 24, "epochs": 2, "lr": 1e-3, "precision": "fp32"}
EXTRA: dict[str, dict[str, object]] = {
    "bsl": {"width": 2, "momentum": 0.9, "predictor_warmup": 3},
    "sct": {"width": 2, "queue": 20, "projector_lr": 1.0},
    "distil": {"queue": 60},
    "isbert": {"filters": 8, "discriminator": "learned", "relu": True},
}
# So large an epsilon makes Adam's step the gradient itself, and rounding errors stay small where the gradient is zero.
LINEAR = {"eps": 1.0, "lr": 0.2, "weight_decay": 0.0, "warmup": 0.0}


def write_bert(
    folder: Path,
    words: list[str],
    kind: Any = BertForMaskedLM,  # noqa: ANN401 - a class of transformers
    *,
    half: bool = False,
    **more: Any,  # noqa: ANN401
) -> Path:
    """Write a BERT of 16 dimensions and 2 layers whose vocabulary is `words`; with `half`, in float16."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    limits = {"vocab_size": len(tokens), "max_position_embeddings": 32, "initializer_range": 0.2}
    config = BertConfig(**{**sizes, **limits, **more})
    # transformers 5 takes the vocabulary itself; an unknown argument would leave the special tokens alone.
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = BertTokenizerFast(vocab=vocabulary, model_max_length=config.max_position_embeddings)
    assert len(tokenizer) == len(tokens)
    torch.manual_seed(3)
    model = kind(config)
    (model.half() if half else model).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def examples_for(name: str, texts: list[str]) -> Examples:
    """Two different views and some hard negatives where the objective reads views, and grades."""
    grades = [row % 5 / 4 for row in range(len(texts))]
    if load_objective(name).READS[0] not in ("views", "graded"):
        return Examples(texts, texts, texts, 0, grades)
    negatives = [text if row % 3 else "" for row, text in enumerate(texts[5:] + texts[:5])]
    return Examples(texts, texts, texts[1:] + texts[:1], 0, grades, [negatives])


def teachers(name: str, encoder: Path) -> dict[str, str | tuple[str, ...]]:
    """The encoder as the teacher or as the guide."""
    known = {"distil": ("teacher", str(encoder)), "contrastive": ("guide", str(encoder))}
    return dict([known[name]]) if name in known else {}


def prepared(
    name: str, encoder: Path, texts: list[str], *, dropout: float | None = None, **given: object
) -> tuple[Objective, Rows, Training]:
    module = load_objective(name)
    values = {**SMALL, **EXTRA.get(name, {}), **teachers(name, encoder), **given}
    _, training, params = resolve(module.PRESETS, module.PARAMS, None, values)
    set_seed(1)
    objective = module.build(params, training, locate(str(encoder)))
    if dropout is not None:
        set_dropout(objective, dropout)
    return objective, Rows(objective.columns(examples_for(name, texts)), seed=1), training


def build(name: str, encoder: Path, preset: str | None = None, **given: object) -> Any:  # noqa: ANN401 - an objective
    """Build an objective of texts of 24 tokens, unless another number is given; its draws are always the same."""
    module = load_objective(name)
    _, training, params = resolve(module.PRESETS, module.PARAMS, preset, {"max_tokens": 24, **given})
    torch.manual_seed(0)
    return module.build(params, training, locate(str(encoder)))


def encoder_of(path: Path | str, pooling: str = "mean", max_tokens: int = 24) -> Objective:
    """An encoder that is ready to be trained, without a loss."""
    settings = Training(lr=1, pooling=pooling, max_tokens=max_tokens)  # type: ignore[arg-type]
    return Objective(None, settings, locate(str(path)))


def pairs(left: list[str], right: list[str] | None = None) -> Examples:
    return Examples(left, left, left if right is None else right)


def rows_of(objective: Objective, examples: Examples, folder: Path | None = None) -> Rows:
    """The rows that are trained on; teachers' vectors are kept in `folder`."""
    rows = Rows(objective.columns(examples), seed=1)
    if folder is not None:
        objective.before_training(folder)
    return rows


def batch_of(
    objective: Objective, examples: Examples, order: Sequence[int] | None = None, folder: Path | None = None
) -> dict[str, Tensor]:
    """The batch of these rows, or of all."""
    rows = rows_of(objective, examples, folder=folder)
    return objective.collate(rows.batch(range(len(rows)) if order is None else order))


def pooled_by_hand(directory: Path, text: str, width: int) -> dict[str, np.ndarray]:
    """A text's vector under each pooling, alone in its batch; only `padded-mean` has padding."""
    model, tokenizer = (
        AutoModel.from_pretrained(directory).float().eval(),
        AutoTokenizer.from_pretrained(directory),
    )
    padded = tokenizer(text, return_tensors="pt", padding="max_length", truncation=True, max_length=width)
    with torch.inference_mode():
        inputs = tokenizer(text, return_tensors="pt", truncation=True)
        layers = model(**inputs, output_hidden_states=True).hidden_states
        positions = model(**padded).last_hidden_state[0]
    tokens = layers[-1][0].numpy()
    return {
        "max": tokens.max(axis=0),
        "lasttoken": tokens[-1],
        "weightedmean": np.average(tokens, axis=0, weights=np.arange(1, len(tokens) + 1)),
        "mean": layers[-1][0].mean(dim=0).numpy(),
        "cls": layers[-1][0][0].numpy(),
        "first-last": ((layers[1][0].mean(dim=0) + layers[-1][0].mean(dim=0)) / 2).numpy(),
        "padded-mean": (sum(positions[i] for i in range(width)) / width).numpy(),
    }


class Interrupted(Exception):
    """A power cut in a test."""


def interrupt_at(objective: Objective, last: int) -> None:
    """Let the objective raise right after the optimiser's step number `last`."""
    follow = objective.after_step

    def after_step(step: int, total: int) -> None:
        follow(step, total)
        if step == last:
            raise Interrupted

    objective.after_step = after_step  # type: ignore[method-assign]


def write_columns(path: Path, **columns: Any) -> Path:  # noqa: ANN401 - lists or Arrow arrays
    """Write columns as an Arrow stream."""
    table = pa.table(columns)
    with path.open("wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return path


def write_pairs(path: Path, rows: list[tuple[str, str | None, str | None]], **more: list[Any]) -> Path:
    """Write text and two views a row, and more columns, as `build-pairs` does."""
    texts, left, right = ([row[place] for row in rows] for place in range(3))
    columns = {
        "id": [f"{row:016x}" for row in range(len(rows))],
        "text": texts,
        "view_a": left,
        "view_b": right,
    }
    columns |= {"view_a_name": ["a"] * len(rows), "view_b_name": ["b"] * len(rows), **more}
    return write_columns(path, **{name: pa.array(column, pa.string()) for name, column in columns.items()})


def train(*arguments: object) -> int:
    """Run `train` and return its exit status."""
    return call(app, [str(argument) for argument in arguments])


def error_line(capsys: Capsys) -> str:
    """Return the one line on stderr since the last look; nothing may be on stdout."""
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    return captured.err


def train_killed(ready: Callable[[], object], *arguments: object) -> None:
    """Run `train` in a process of its own and kill it as soon as it is `ready`."""
    code = "from trainers.__main__ import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)])
    deadline = time.monotonic() + 120
    while not ready():
        assert process.poll() is None, "the training ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()


def trained(
    name: str,
    encoder: Path,
    texts: list[str],
    out: Path,
    *,
    last: int | None = None,
    dev: Task | None = None,
    **given: object,
) -> tuple[Objective, Fitted]:
    """Train what is prepared; with `last`, `Interrupted` is raised after that step."""
    objective, rows, _ = prepared(name, encoder, texts, **given)
    if last is not None:
        interrupt_at(objective, last)
    torch.seed()  # whatever was drawn before does not matter
    return objective, fit(objective, rows, out, seed=1, dev=dev)


def read_log(out: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def check_same(one: Objective, other: Objective) -> None:
    """Check that both have exactly the same weights."""
    expected, found = one.state_dict(), other.state_dict()
    assert expected.keys() == found.keys()
    assert [key for key in expected if not torch.equal(expected[key], found[key])] == []
