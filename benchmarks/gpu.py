"""Our code on a GPU beside plain loops and sentence-transformers, in at most eight minutes: a Markdown table.

    python benchmarks/gpu.py --parallel DIR
    python benchmarks/gpu.py --parallel DIR --small    # the same with tiny models, on a CPU too: does it run?

All models have random weights and the texts are random words, so nothing is downloaded. Only the last part fine-tunes
the bundled translation model, on Multi30k's train.en.gz and train.de.gz in DIR, and scores it on test_2016_flickr.
Neither the bundled encoder nor CTranslate2 is needed. With OUT set to a folder, the table and that model go there:
eight files of at most 16 MiB. The exit code is 1 if a part failed, or if a loss in fp32 differs from the CPU's by more
than a thousandth.

A machine with PyTorch, transformers and sentence-transformers but without a network gets the rest from wheels, which
`python benchmarks/gpu_wheels.py` fetches elsewhere into build/gpu-wheels:

    python -m pip install --no-index --no-deps --target build/gpu-site build/gpu-wheels/*.whl
    PYTHONPATH=.:build/gpu-site python benchmarks/gpu.py --parallel build/multi30k
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gzip
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
import torch
import transformers
from gpu_measuring import (
    COLUMNS,
    CUDA,
    DEVICE,
    SMALL,
    Cost,
    Sizes,
    Table,
    fitting,
    measured,
    sentences,
    write_bert,
)
from gpu_steps import largest_batch, steps_of
from numpy.typing import NDArray
from opus_sized import write
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import semantic_search
from transformers import AutoModelForMaskedLM, AutoTokenizer, MarianMTModel, MarianTokenizer

from augment.models.device import quiet_transformers
from augment.models.weights import STARTER_TRANSLATION
from augment.translate.marian import MarianTranslator
from augment.view import JSON, ViewSpec, make_view
from trainers.encoders import model as encoders
from trainers.encoders.vectors import nearest, unit
from trainers.settings import objective_names

starter_train: Any = import_module("recipes.starter_train")
PRECISION: Any = "bf16" if CUDA else "fp32"
DTYPE = torch.bfloat16 if CUDA else torch.float32
STARTED, SECONDS = time.perf_counter(), 480.0
RESERVE = 30.0  # seconds at the end: scoring and writing
MOST_EPOCHS = 8.0
LARGEST_FILE = 16 * 2**20  # bytes
PARALLEL = [(part, code) for part in ("train", "test_2016_flickr") for code in ("en", "de")]
DECODINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beam:4": {"num_beams": 4, "early_stopping": True},
    "sample": {"do_sample": True, "top_k": 0},
}


def our_round_trips(folder: Path, decode: str, texts: list[str], batch_tokens: int) -> Cost:
    """`backtranslate`, there and back by transformers."""
    options: dict[str, JSON] = {"pivot": "de", "models": str(folder), "decode": decode}
    spec = ViewSpec("backtranslate", {**options, "translator": "transformers", "precision": PRECISION})
    view = make_view(spec, device=DEVICE.type, batch_tokens=batch_tokens)
    view(texts[:8], range(8))
    views: list[Any] = []
    cost = measured(lambda: views.extend(view(texts, range(len(texts)))))
    one_way = sum(result.pivot is None or "pivot" in (result.reason or "") for result in views)
    if one_way > len(views) / 20:  # a few random texts are taken for loops
        raise RuntimeError(f"{one_way} of {len(views)} sentences came no further than the pivot")
    return cost


def plain_round_trips(folder: Path, settings: dict[str, Any], texts: list[str], size: int) -> Cost:
    """A loop over `generate`, there and back, with `size` sentences a batch in their order; the same precision."""
    tokenizer = MarianTokenizer.from_pretrained(folder / "en-de")
    model: Any = MarianMTModel.from_pretrained(folder / "en-de", dtype=DTYPE).to(DEVICE).eval()

    def work(written: list[str]) -> None:
        for _ in range(2):
            sources, written = written, []
            for start in range(0, len(sources), size):
                batch = tokenizer(sources[start : start + size], return_tensors="pt", padding=True).to(DEVICE)
                ids = model.generate(**batch, max_length=128, **settings)
                written += tokenizer.batch_decode(ids, skip_special_tokens=True)

    work(texts[:8])
    return measured(lambda: work(texts))


def back_translation(table: Table, folder: Path, sizes: Sizes) -> None:
    """Back-translation at OPUS-MT's size, in each way of decoding."""
    write(folder / "en-de", sizes.opus, ends_after=16)
    (folder / "de-en").symlink_to(folder / "en-de")
    texts = sentences(sizes.translated, 6, 16)
    for decode, settings in DECODINGS.items():
        what = f"back-translation, {decode}, {PRECISION}, sentences (peer: `generate`)"
        _, ours = fitting(what, 16_384, partial(our_round_trips, folder, decode, texts))
        _, theirs = fitting(f"plain {what}", 128, partial(plain_round_trips, folder, settings, texts))
        table.rates(what, len(texts), ours, theirs)


def our_fill(folder: Path, texts: list[str], batch_tokens: int) -> Cost:
    """`mlm-fill`: any word for a fifth of the words of each sentence."""
    view = make_view(
        ViewSpec("mlm-fill", {"encoder": str(folder)}), device=DEVICE.type, batch_tokens=batch_tokens
    )
    view(texts[:8], range(8))
    views: list[Any] = []
    cost = measured(lambda: views.extend(view(texts, range(len(texts)))))
    if (changed := sum(result.status == "ok" for result in views)) < len(texts) / 2:
        raise RuntimeError(f"mlm-fill changed only {changed} of {len(texts)} sentences")
    return cost


def plain_fill(folder: Path, texts: list[str], size: int) -> Cost:
    """A loop that masks one token of each sentence and takes its ten likeliest ones."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).to(DEVICE).eval()

    @torch.inference_mode()
    def work(texts: list[str]) -> None:
        for start in range(0, len(texts), size):
            batch = tokenizer(texts[start : start + size], return_tensors="pt", padding=True).to(DEVICE)
            rows, places = (
                torch.arange(len(batch["input_ids"]), device=DEVICE),
                batch["attention_mask"].sum(1) // 2,
            )
            batch["input_ids"][rows, places] = tokenizer.mask_token_id
            best = model(**batch).logits[rows, places].topk(10).indices
            tokenizer.batch_decode(best.flatten()[:, None].tolist())

    work(texts[:8])
    return measured(lambda: work(texts))


def filling(table: Table, bert: Path, sizes: Sizes) -> None:
    """mlm-fill at BERT-base's shape."""
    texts, what = (
        sentences(sizes.filled, 6, 16),
        "mlm-fill, fp32, sentences (peer: a plain loop, one word each)",
    )
    _, ours = fitting(what, 65_536, partial(our_fill, bert, texts))
    _, theirs = fitting(f"plain {what}", 256, partial(plain_fill, bert, texts))
    table.rates(what, len(texts), ours, theirs)


def our_vectors(folder: Path, texts: list[str], batch_tokens: int) -> tuple[Cost, NDArray[np.float32]]:
    """The cost of the vectors of texts by an encoder as `train evaluate` loads it, and the vectors."""
    encoders.BATCH_TOKENS = batch_tokens
    settings: Any = {"precision": PRECISION, "device": DEVICE.type}
    encoder = encoders.load_model(str(folder), pooling="mean", **settings)
    vectors = list[NDArray[np.float32]]()
    encoder.encode(texts[:8])
    return measured(lambda: vectors.append(encoder.encode(texts))), vectors[0]


def their_vectors(folder: Path, texts: list[str], size: int) -> Cost:
    """The cost of the vectors of texts by sentence-transformers, weights in the same precision."""
    with quiet_transformers():
        encoder = SentenceTransformer(str(folder), device=DEVICE.type, model_kwargs={"dtype": DTYPE})
    encode = partial(encoder.encode, batch_size=size, show_progress_bar=False)
    encode(texts[:8])
    return measured(lambda: encode(texts))


def searching(table: Table, bert: Path, sizes: Sizes) -> None:
    """Vectors of short texts at BERT-base's shape, and the ten nearest of them all to some of them."""
    texts = sentences(sizes.encoded, 4, 8)
    peer = f"peer: sentence-transformers, {sizes.peer_encoded:,}"
    what = f"vectors of {sizes.encoded:,} short texts, {PRECISION} ({peer})"
    _, (ours, vectors) = fitting(what, 16_384, partial(our_vectors, bert, texts))
    _, theirs = fitting(f"the peer's {what}", 256, partial(their_vectors, bert, texts[: sizes.peer_encoded]))
    table.rates(what, len(texts), ours, theirs, sizes.peer_encoded)
    queries, close, hits = vectors[: sizes.queries], list[NDArray[np.int64]](), list[Any]()

    def peer_search() -> None:
        keys = torch.from_numpy(vectors).to(DEVICE)
        hits.extend(semantic_search(torch.from_numpy(queries).to(DEVICE), keys, top_k=10))

    ours = measured(lambda: close.append(nearest(queries, vectors, 10, device=DEVICE.type)))
    theirs = measured(peer_search)
    # The similarities are compared, not the places: two texts can be equally near.
    our_scores = np.einsum(
        "nd,nkd->nk", unit(queries), unit(vectors[close[0].ravel()]).reshape(*close[0].shape, -1)
    )
    gap = float(np.abs(our_scores - [[hit["score"] for hit in row] for row in hits]).max())
    if not gap < 1e-4:
        raise RuntimeError(f"the nearest texts are less similar than those of semantic_search, by {gap:.1e}")
    what = f"ten nearest of {sizes.encoded:,} texts, fp32, queries (peer: `semantic_search`)"
    table.rates(what, len(queries), ours, theirs)


def bleu(model: Path, sources: list[str], references: list[str]) -> float:
    """BLEU of our greedy translation into German."""
    settings: dict[str, Any] = {"engine": "transformers", "precision": PRECISION, "device": DEVICE.type}
    outputs = MarianTranslator(model, prefix=">>de<<", **settings).translate(sources)
    return float(sacrebleu.corpus_bleu([output.text for output in outputs], [references]).score)


def recipe(table: Table, folder: Path, sizes: Sizes, data: Path) -> None:
    """Fine-tune the bundled translation model for the time that is left; BLEU before and after."""
    sides = {
        (part, code): gzip.decompress((data / f"{part}.{code}.gz").read_bytes()).decode("utf-8").splitlines()
        for part, code in PARALLEL
    }
    tested = [sides["test_2016_flickr", code][: sizes.scored] for code in ("en", "de")]
    text, start = folder / "train.tsv", STARTER_TRANSLATION / "en-xx"
    rows = [*zip(sides["train", "en"], sides["train", "de"], strict=True)][: sizes.trained]
    text.write_text("".join(f">>de<< {english}\t{german}\n" for english, german in rows), encoding="utf-8")
    before = bleu(start, *tested)
    words = ["--parallel", str(text), "--model", str(start), "--out", str(folder / "recipe"), "--lr", "3e-4"]
    words += ["--warmup-steps", "100", "--decay", "0.5", "--batch-tokens", "8192", "--precision", PRECISION]
    probe = starter_train.arguments([*words, "--epochs", "1", "--out", str(folder / "probe")])
    pairs = starter_train.read_parallel(text)
    tokenizer = MarianTokenizer.from_pretrained(start)
    model = MarianMTModel.from_pretrained(start, use_safetensors=True)
    cost = measured(lambda: starter_train.train(pairs[:4_096], probe, tokenizer, model))
    left = max(SECONDS - RESERVE - (time.perf_counter() - STARTED), 10.0)
    epochs = round(min(MOST_EPOCHS, 0.8 * left / cost.seconds * min(4_096, len(pairs)) / len(pairs)), 3)
    with contextlib.redirect_stdout(sys.stderr):  # it prints where the model is
        starter_train.main([*words, "--epochs", str(epochs)])
    after = bleu(folder / "recipe" / "model", *tested)
    what = f"BLEU, {epochs:g} epochs of starter_train.py on {len(pairs):,} pairs (peer: before)"
    table.row(what, f"{after:.1f}", f"{before:.1f}", f"{after / before:.2f}")


def save(table: Table, out: Path, model: Path) -> None:
    """Write the table, and the model if it is done; no more than eight files, none over 16 MiB."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "gpu.md").write_text("\n".join(table.lines) + "\n", encoding="utf-8")
    files = [path for path in sorted(model.glob("*")) if path.stat().st_size <= LARGEST_FILE]
    for path in files[:7]:
        (out / "model").mkdir(exist_ok=True)
        shutil.copy(path, out / "model")


def main() -> None:
    """Run every part, and go on if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parallel", type=Path, required=True)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    sizes, table, failed = SMALL if options.small else Sizes(), Table(), list[str]()
    for part, code in PARALLEL:
        if not (options.parallel / f"{part}.{code}.gz").is_file():
            parser.error(
                f"--parallel {options.parallel}: no {part}.{code}.gz there: give a folder of Multi30k's files"
            )
    card = torch.cuda.get_device_name() if CUDA else "a CPU"
    how = " --small" if options.small else ""
    table.show(
        f"`gpu.py{how}` on {card}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"{datetime.date.today()}. Where the ratio is over 1, ours is better."
    )
    table.show("")
    table.row(*COLUMNS)
    table.show(f"|---|{'--:|' * (len(COLUMNS) - 1)}")
    with tempfile.TemporaryDirectory() as name, quiet_transformers():
        folder = Path(name)
        write_bert(folder / "bert", sizes.bert)
        bert, peer_costs = (table, folder / "bert", sizes), dict[tuple[str, str, int], Cost]()
        parts: dict[str, Callable[[], None]] = {
            "back-translation": partial(back_translation, table, folder, sizes),
            "mlm-fill": partial(filling, *bert),
            "vectors": partial(searching, *bert),
            **{name: partial(steps_of, name, *bert, peer_costs) for name in objective_names()},
            "largest batch": partial(largest_batch, *bert),
            "recipe": partial(recipe, table, folder, sizes, options.parallel),
        }
        for title, run in parts.items():
            begun = time.perf_counter()
            try:
                run()
            except Exception:  # the others are still worth their minutes
                traceback.print_exc()
                failed.append(title)
            print(f"{title}: {time.perf_counter() - begun:.0f} s", file=sys.stderr)
            if out := os.environ.get("OUT"):
                save(table, Path(out), folder / "recipe" / "model")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
