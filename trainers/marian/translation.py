"""What `train marian` trains: parallel text in batches, a vocabulary in Marian's layout, the model and its loss."""

import io
import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import MarianConfig, MarianMTModel, MarianTokenizer, TrainerCallback, TrainerControl, TrainerState
from transformers.models.marian.modeling_marian import shift_tokens_right

from pipelines.terminal.console import InputError
from trainers.data.examples import Ragged
from trainers.files import file_lines
from trainers.objective import drop_aliases
from trainers.training.directory import checkpoints, record_hashes, step_of

Pairs = Sequence[tuple[str, str]]
CODE = re.compile(r">>[^<>\s]+<< ?")  # a target language code at the start of a source
POOL = 100  # batches are sorted by length within pools of about this many, so that their content stays random


def read_parallel(path: Path) -> list[tuple[str, str]]:
    """Read `source<TAB>target` lines; further fields are ignored, blank lines and empty sides skipped.

    Raises InputError for a file (.gz too) that is missing or not UTF-8, for a line without a tab, and for no pair.
    """
    pairs = []
    for number, line in enumerate(file_lines(path), start=1):
        source, *rest = (field.strip() for field in line.split("\t"))
        if source and not rest:
            raise InputError(f"{path} line {number} has no tab: {line[:60]!r}; expected source<TAB>target")
        if source and rest[0]:
            pairs.append((source, rest[0]))
    if not pairs:
        raise InputError(f"{path} holds no sentence pair; expected lines of source<TAB>target")
    return pairs


def build_tokenizer(pairs: Pairs, size: int) -> MarianTokenizer:
    """Return a tokenizer with a unigram vocabulary of `size` ids in all, trained on both sides of the pairs.

    CTranslate2 insists on their layout (end 0, unknown 1, codes, padding last). Raises InputError: too little text.
    """
    codes = sorted({code[0].strip() for source, _ in pairs if (code := CODE.match(source))})
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=(CODE.sub("", side) for pair in pairs for side in pair),
            model_writer=model,
            vocab_size=size - len(codes) - 1,
            character_coverage=0.9998,
            bos_id=-1,
            eos_id=0,
            unk_id=1,
            num_threads=1,
            input_sentence_size=500_000,
            shuffle_input_sentence=True,
            minloglevel=2,
        )
    except RuntimeError as error:
        problem = f"no vocabulary of {size} ids can be built from this text ({str(error).rpartition('] ')[2]})"
        raise InputError(f"{problem}: give more text or a smaller --vocabulary") from error
    processor = SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [*map(processor.id_to_piece, range(len(processor))), *codes, "<pad>"]
    with TemporaryDirectory() as scratch:
        files = [Path(scratch, name) for name in ("source.spm", "target.spm", "vocab.json")]
        for file in files[:2]:
            file.write_bytes(model.getvalue())
        files[2].write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}), "utf-8")
        MarianTokenizer(*map(str, files), model_max_length=512).save_pretrained(scratch)
        return MarianTokenizer.from_pretrained(scratch)


class ParallelIds(Dataset[dict[str, list[int]]]):
    """Sentence pairs as token ids, both ending in the end symbol."""

    def __init__(self, pairs: Pairs, tokenizer: MarianTokenizer, max_tokens: int) -> None:
        limits = {"truncation": True, "max_length": max_tokens}
        self.sources = Ragged(tokenizer([source for source, _ in pairs], **limits)["input_ids"])
        self.targets = Ragged(tokenizer(text_target=[target for _, target in pairs], **limits)["input_ids"])

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return {"input_ids": self.sources[index], "labels": self.targets[index]}


def token_batches(rows: ParallelIds, *, budget: int, epochs: float, seed: int) -> list[list[int]]:
    """Return batches of row numbers: sentences of similar length, up to `budget` target tokens with padding.

    Every row comes once an epoch; the last epoch may be partial. A resumed run finds its place in this sequence.
    """
    sources, targets = rows.sources.lengths, rows.targets.lengths
    pool = int(POOL * budget / max(targets.mean(), 1)) + 1
    batches: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        random = np.random.default_rng((seed, epoch))
        order = random.permutation(len(targets))
        epoch_batches: list[list[int]] = []
        for start in range(0, len(order), pool):
            pool_rows = order[start : start + pool]
            batch: list[int] = []
            for row in pool_rows[np.lexsort((sources[pool_rows], targets[pool_rows]))].tolist():
                # Rows are sorted by length, so the newest is the longest of its batch.
                if batch and (len(batch) + 1) * targets[row] > budget:
                    epoch_batches.append(batch)
                    batch = []
                batch.append(row)
            epoch_batches.append(batch)
        batches += [epoch_batches[index] for index in random.permutation(len(epoch_batches))]
    return batches[: max(1, round(len(batches) * epochs / math.ceil(epochs)))]


def new_model(shape: Mapping[str, Any], tokenizer: MarianTokenizer) -> MarianMTModel:
    """Return an untrained MarianMT of the recipe's `shape`, with Xavier-uniform matrices."""
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=shape["d_model"],
        **{f"{side}_ffn_dim": shape["ffn"] for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": shape["heads"] for side in ("encoder", "decoder")},
        **{key: shape[key] for key in ("encoder_layers", "decoder_layers", "dropout")},
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        attn_implementation="eager",
    )
    model = MarianMTModel(config)
    embeddings = model.get_input_embeddings().weight
    for name, parameter in model.named_parameters():
        if parameter is not embeddings and parameter.dim() == 2 and "embed_positions" not in name:
            nn.init.xavier_uniform_(parameter)
    with torch.no_grad():
        embeddings.normal_(std=shape["d_model"] ** -0.5)
        embeddings[tokenizer.pad_token_id].zero_()
    return model


class KeepBeforeDecay(TrainerCallback):  # type: ignore[misc] # transformers is untyped here
    """Keep the two newest checkpoints and that of `step`, after which the rate falls: more epochs continue from it."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, _: object, state: TrainerState, control: TrainerControl, **__: object) -> None:
        """Ask for a checkpoint at the step."""
        control.should_save |= state.global_step == self.step

    def on_save(self, arguments: Any, *_: object, **__: object) -> None:  # noqa: ANN401 - untyped here
        """Record the hashes of the newest, and remove what is older than the two newest."""
        newest, *others = checkpoints(Path(arguments.output_dir))
        record_hashes(newest)
        for path in others[1:]:
            if step_of(path) != self.step:
                shutil.rmtree(path)


class Translation(nn.Module):
    """The objective of `train marian`."""

    _keys_to_ignore_on_save = None  # as in `Objective`

    def __init__(self, model: MarianMTModel, label_smoothing: float = 0.1) -> None:
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing
        self.register_state_dict_post_hook(drop_aliases)  # type: ignore[no-untyped-call]

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Return the mean cross-entropy in nats per target token.

        Ids and mask are (sentences, source tokens), labels (sentences, target tokens); no logits are computed for -100.
        """
        config = self.model.config
        shifted = shift_tokens_right(labels, config.pad_token_id, config.decoder_start_token_id)
        states = self.model.model(
            input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=shifted, use_cache=False
        ).last_hidden_state
        real = labels != -100
        logits = self.model.lm_head(states[real]) + self.model.final_logits_bias
        return {"loss": nn.functional.cross_entropy(logits, labels[real], label_smoothing=self.label_smoothing)}
