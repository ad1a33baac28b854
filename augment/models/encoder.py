"""Sentence encoders, loaded as sentence-transformers' models in float32 without running their code or pickles."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augment.errors import InputError, OwnCodeError, one_line, warn_once
from augment.models.device import quiet_transformers
from augment.models.loading import NOT_RUN, WEIGHT_OPTIONS, check_length, check_weights, loading

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

NOT_BUILT = re.compile("falling back|[Ii]gnor")
"""What the libraries say of a setting that they do not heed."""
EXPECTED = re.compile("LOAD REPORT|No sentence-transformers model found|Default prompt name")
"""What they say of new heads, a default pooling and a prompt, which are checked or said here."""


def load_encoder(path: Path, device: str | None) -> "SentenceTransformer":
    """Load the encoder in a folder, a plain model with mean pooling.

    Raises InputError if it cannot be loaded.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Transformer

    what = f"encoder {path}"
    safe = {"trust_remote_code": False, "local_files_only": True}
    with loading(what, path), quiet_transformers() as warned:
        encoder = SentenceTransformer(str(path), device=device, model_kwargs=WEIGHT_OPTIONS, **safe)
    for text in (text for text in warned if not EXPECTED.search(text)):
        if NOT_BUILT.search(text):
            problem = f"{what} is not built as its files say ({one_line(text, 160)})"
            raise OwnCodeError(f"{problem}: if it has {NOT_RUN}, take another")
        warn_once("%s: %s", what, one_line(text, 200))
    check_weights(encoder, what)
    for module in encoder.modules():
        if isinstance(module, Transformer):
            _check_complete(module, what)
            if (limit := positions(module.model)) < (module.max_seq_length or limit):
                module.max_seq_length = limit
            if module.max_seq_length is not None:
                check_length(module.max_seq_length, what)
    if isinstance(encoder[0], Transformer) and callable(encoder.tokenizer):
        _check_tokenizer(encoder, what)
    return encoder.float()


def positions(model: Any) -> int:  # noqa: ANN401 - transformers' model
    """The tokens that a model has positions for; a great many if it needs none."""
    number = getattr(model.config, "max_position_embeddings", None) or -1
    # RoBERTa's tables begin after its padding id.
    padding = getattr(getattr(model, "embeddings", None), "padding_idx", None)
    return 1 << 30 if number < 0 else int(number) - (0 if padding is None else padding + 1)


def _check_complete(module: Any, what: str) -> None:  # noqa: ANN401 - modules.Transformer
    """Raise InputError for weights that the files lack, except an unused pooler's."""
    names = [
        name
        for name, weight in module.model.named_parameters()
        if not getattr(weight, "_is_hf_initialized", False)
    ]
    if module.module_output_name == "token_embeddings":
        names = [name for name in names if "pooler" not in name.split(".")]
    if names:
        problem = f"lack {len(names)} tensors of its configuration, the first is {names[0]}"
        raise InputError(f"the files of the {what} {problem}: get its files again")


def _check_tokenizer(encoder: "SentenceTransformer", what: str) -> None:
    """Raise InputError for a tokenizer that does not fit the model, or cannot pad."""
    tokenizer, config = encoder.tokenizer, encoder[0].model.config
    vocabulary_size = int(getattr(config, "vocab_size", 0) or len(tokenizer))
    # A tokenizer whose files are missing has only its special tokens.
    if not len(tokenizer.all_special_tokens) < len(tokenizer) <= vocabulary_size:
        raise InputError(
            f"the tokenizer of the {what} has {len(tokenizer)} tokens, "
            f"its model {vocabulary_size} tokens: they do not fit together"
        )
    if tokenizer.pad_token_id is None:
        advice = "give it one, such as its end token (tokenizer.pad_token), and save it"
        raise InputError(f"the tokenizer of the {what} has no padding token: {advice}")
