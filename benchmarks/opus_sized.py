"""Write a MarianMT model of opus-mt's size: random weights, the bundled models' pieces, no sentence ever ends.

python benchmarks/opus_sized.py FOLDER
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
import typer
from transformers import MarianConfig, MarianMTModel

from augment.models.weights import STARTER_TRANSLATION

OPUS_MT = {"d_model": 512, "ffn": 2_048, "heads": 8, "layers": 6, "vocabulary": 58_101}
"""The sizes of Helsinki-NLP's opus-mt models."""


def main(folder: Path) -> None:
    """Write the model."""
    folder.mkdir()
    torch.manual_seed(0)
    source = STARTER_TRANSLATION / "en-xx"
    for name in ("source.spm", "target.spm", "tokenizer_config.json"):
        shutil.copy(source / name, folder / name)
    tokens = json.loads((source / "vocab.json").read_text("utf-8"))
    tokens = {token: number for token, number in tokens.items() if token != ">>de<<" and token != ">>fr<<"}
    names = sorted(tokens, key=lambda token: tokens[token])
    names += [f"unused{number}" for number in range(OPUS_MT["vocabulary"] - len(names))]
    ids = {token: number for number, token in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(ids), "utf-8")
    config = MarianConfig(
        vocab_size=len(names), d_model=OPUS_MT["d_model"], max_position_embeddings=512, scale_embedding=True,
        encoder_layers=OPUS_MT["layers"], decoder_layers=OPUS_MT["layers"],
        encoder_ffn_dim=OPUS_MT["ffn"], decoder_ffn_dim=OPUS_MT["ffn"],
        encoder_attention_heads=OPUS_MT["heads"], decoder_attention_heads=OPUS_MT["heads"],
        activation_function="swish", pad_token_id=ids["<pad>"], eos_token_id=ids["</s>"],
        decoder_start_token_id=ids["<pad>"], forced_eos_token_id=None,
    )  # fmt: skip
    model = MarianMTModel(config)
    model.final_logits_bias[0, [ids["<pad>"], ids["</s>"]]] = -1e4
    model.save_pretrained(folder)


if __name__ == "__main__":
    typer.run(main)
