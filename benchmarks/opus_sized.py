"""Write a MarianMT model of opus-mt's size: random weights, the bundled models' pieces, no sentence ever ends.

python benchmarks/opus_sized.py FOLDER
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import typer
from transformers import MarianConfig, MarianMTModel

from augment.models.weights import STARTER_TRANSLATION

OPUS_MT = {"d_model": 512, "ffn": 2_048, "heads": 8, "layers": 6, "vocabulary": 58_101}
"""The sizes of Helsinki-NLP's opus-mt models."""
UNUSED = -1e4  # logit of a token that is never written


def main(folder: Path) -> None:
    """Write the model."""
    write(folder)


def write(folder: Path, sizes: Mapping[str, int] = OPUS_MT, *, ends_after: int | None = None) -> None:
    """Write a model of these sizes; with `ends_after`, every output ends after so many tokens, and few are alike."""
    folder.mkdir()
    torch.manual_seed(0)
    source = STARTER_TRANSLATION / "en-xx"
    for name in ("source.spm", "target.spm", "tokenizer_config.json"):
        shutil.copy(source / name, folder / name)
    tokens = json.loads((source / "vocab.json").read_text("utf-8"))
    tokens = {token: number for token, number in tokens.items() if token != ">>de<<" and token != ">>fr<<"}
    names = sorted(tokens, key=lambda token: tokens[token])
    pieces = len(names)
    names += [f"unused{number}" for number in range(sizes["vocabulary"] - len(names))]
    ids = {token: number for number, token in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(ids), "utf-8")
    config = MarianConfig(
        vocab_size=len(names),
        d_model=sizes["d_model"],
        max_position_embeddings=512,
        scale_embedding=True,
        encoder_layers=sizes["layers"],
        decoder_layers=sizes["layers"],
        encoder_ffn_dim=sizes["ffn"],
        decoder_ffn_dim=sizes["ffn"],
        encoder_attention_heads=sizes["heads"],
        decoder_attention_heads=sizes["heads"],
        activation_function="swish",
        pad_token_id=ids["<pad>"],
        eos_token_id=ids["</s>"],
        decoder_start_token_id=ids["<pad>"],
        forced_eos_token_id=None,
        tie_word_embeddings=ends_after is None,
    )
    model = MarianMTModel(config)
    model.final_logits_bias[0, [ids["<pad>"], ids["</s>"]]] = UNUSED
    if ends_after is not None:
        special = (ids["<pad>"], ids["</s>"], ids["<unk>"])
        set_output_layer(model, [number for number in range(pieces) if number not in special], ends_after)
    model.save_pretrained(folder)


@torch.no_grad()
def set_output_layer(model: Any, pieces: Sequence[int], ends_after: int) -> None:  # noqa: ANN401 - transformers' model
    """Make the output layer of a random decoder write varied `pieces`, then the end after `ends_after` tokens.

    The states of a random decoder are nearly one vector, so random outputs would repeat one token. Their small
    differences, which come from the place, the source and the tokens before, decide once the states are whitened.
    """
    rows, length, end = 64, 2 * ends_after, model.config.eos_token_id
    sources, written = (torch.tensor(pieces)[torch.randint(len(pieces), (rows, length))] for _ in range(2))
    sources[:, -1], written[:, 0] = end, model.config.decoder_start_token_id
    states = model.model(input_ids=sources, decoder_input_ids=written).last_hidden_state.flatten(0, 1)
    mean, width = states.mean(0), states.shape[1]
    covariance = torch.cov(states.T)
    values, vectors = torch.linalg.eigh(covariance + 0.05 * covariance.diagonal().mean() * torch.eye(width))
    weight = (
        3 / width**0.5 * torch.randn(model.config.vocab_size, width) @ (vectors * values.rsqrt()) @ vectors.T
    )
    bias = torch.full((model.config.vocab_size,), UNUSED)
    bias[list(pieces)] = -(weight @ mean)[list(pieces)]
    wanted = torch.where(torch.arange(length) < ends_after, -30.0, 30.0).repeat(rows)
    solution = torch.linalg.lstsq(
        torch.cat([states, torch.ones(len(states), 1)], 1), wanted[:, None]
    ).solution[:, 0]
    weight[end], bias[end] = solution[:-1], solution[-1]
    model.lm_head.weight.copy_(weight)
    model.final_logits_bias.copy_(bias[None])


if __name__ == "__main__":
    typer.run(main)
