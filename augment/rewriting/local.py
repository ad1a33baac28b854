"""A language model here, by transformers: causal with its chat template, or sequence-to-sequence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from augment.models.device import pack, quiet_transformers, resolve_device
from augment.models.loading import load_model, loading
from augment.rewriting.answers import Answer, Read
from augment.translate.decoding import Decoding
from augment.translate.pytorch import Draws

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

BATCH_TOKENS = 2_048


@dataclass(eq=False)
class LocalModel:
    """A model in a folder, loaded at the first prompt."""

    path: Path
    temperature: float
    max_tokens: int
    device: str
    batch_tokens: int | None = None

    @cached_property
    def _tokenizer(self) -> "PreTrainedTokenizerBase":
        from transformers import AutoTokenizer

        with loading(f"--model {self.path}", self.path), quiet_transformers():
            return AutoTokenizer.from_pretrained(self.path, local_files_only=True)

    @cached_property
    def _model(self) -> "PreTrainedModel":
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

        what = f"--model {self.path}"
        with loading(what, self.path), quiet_transformers():
            config = AutoConfig.from_pretrained(self.path, local_files_only=True)
        kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        model, _ = load_model(kind, self.path, what)
        return model.to(resolve_device(self.device)).eval()

    def _encoded(self, prompt: str) -> list[int]:
        if self._tokenizer.chat_template is None:
            return list(self._tokenizer(prompt)["input_ids"])
        message = [{"role": "user", "content": prompt}]
        encoded: Any = self._tokenizer.apply_chat_template(
            message, add_generation_prompt=True, return_dict=True
        )
        return list(encoded["input_ids"])

    def write(self, prompts: Sequence[str], seeds: Sequence[int], read: Read) -> list[Answer]:
        """The answer to each prompt, as `read` takes it from row, text and whether it was cut.

        Prompts of one length are a batch, without padding, and a row is drawn by its own seed.
        """
        rows = [*map(self._encoded, prompts)]
        answers: dict[int, Answer] = {}
        for batch in pack([*map(len, rows)], self.batch_tokens or BATCH_TOKENS):
            outputs = self._generate([rows[row] for row in batch], [seeds[row] for row in batch])
            for row, (text, is_cut) in zip(batch, outputs, strict=True):
                answers[row] = read(row, text, is_cut)
        return [answers[row] for row in range(len(rows))]

    def _generate(self, rows: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[tuple[str, bool]]:
        model, tokenizer = self._model, self._tokenizer
        start = 1 if model.config.is_encoder_decoder else len(rows[0])
        decoding = Decoding(sampled=True, temperature=self.temperature or 1.0)
        draws = [Draws(decoding, seeds, self.max_tokens, start)] if self.temperature else []
        ids = torch.tensor(rows, device=model.device)
        with torch.inference_mode(), quiet_transformers():
            outputs: Any = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                logits_processor=draws,
                do_sample=False,
                num_beams=1,
                max_new_tokens=self.max_tokens,
                pad_token_id=tokenizer.pad_token_id
                if tokenizer.pad_token_id is not None
                else tokenizer.eos_token_id,
            )
        ends = model.generation_config.eos_token_id
        ends = {*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id}
        return [
            (tokenizer.decode(output, skip_special_tokens=True), ends.isdisjoint(output))
            for output in outputs[:, start:].tolist()
        ]
