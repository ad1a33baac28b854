"""Put the finished starter models where the package finds them, in float16 and without what nobody needs.

    python recipes/starter_pack.py --runs build/starter --out augment/starter

Reads RUNS/run-en-xx/model, RUNS/run-xx-en/model and RUNS/run-encoder; the model cards in OUT stay as they are.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM, AutoTokenizer

SPECIAL_IDS = ("decoder_start_token_id", "eos_token_id", "forced_eos_token_id", "pad_token_id")
MARIAN_FILES = ("config.json", "source.spm", "target.spm", "vocab.json")
MARIAN_TOKENIZER = {
    "tokenizer_class": "MarianTokenizer",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "model_max_length": 512,
    "separate_vocabs": False,
}
BERT_TOKENIZER = {
    "tokenizer_class": "BertTokenizer",
    "do_lower_case": True,
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
    "model_max_length": 512,
}


def write_json(path: Path, value: object, *, compact: bool = False) -> None:
    """Write JSON with one trailing newline."""
    form = {"separators": (",", ":")} if compact else {"indent": 2}
    path.write_text(json.dumps(value, ensure_ascii=False, **form) + "\n", encoding="utf-8")


def pack_translation(model: Path, out: Path) -> None:
    """Copy a finished MarianMT model (its weights are float16 already)."""
    out.mkdir(parents=True, exist_ok=True)
    for name in MARIAN_FILES:
        shutil.copyfile(model / name, out / name)
    weights = load_file(model / "model.safetensors")
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    (out / "model.safetensors").chmod(0o644)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    write_json(out / "tokenizer_config.json", MARIAN_TOKENIZER)
    ids = {
        key: config[key]
        for key in ("decoder_start_token_id", "eos_token_id", "forced_eos_token_id", "pad_token_id")
    }
    write_json(out / "generation_config.json", {**ids, "max_length": 512, "num_beams": 1})


def pack_encoder(run: Path, out: Path) -> None:
    """Write a finished masked language model in float16 with a tokenizer that neither cuts nor pads by itself."""
    model = AutoModelForMaskedLM.from_pretrained(run)
    model.half().save_pretrained(out)
    (out / "model.safetensors").chmod(0o644)
    (out / "generation_config.json").unlink(missing_ok=True)
    AutoTokenizer.from_pretrained(run).save_pretrained(out)
    settings = json.loads((out / "tokenizer.json").read_text(encoding="utf-8"))
    write_json(out / "tokenizer.json", {**settings, "truncation": None, "padding": None}, compact=True)
    write_json(out / "tokenizer_config.json", BERT_TOKENIZER)


def main() -> None:
    """Pack what is there and print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for name in ("en-xx", "xx-en"):
        pack_translation(options.runs / f"run-{name}" / "model", options.out / "translation" / name)
    pack_encoder(options.runs / "run-encoder", options.out / "encoder")
    for path in sorted(options.out.rglob("model.safetensors")):
        size = sum(file.stat().st_size for file in path.parent.iterdir())
        print(f"{path.parent}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
