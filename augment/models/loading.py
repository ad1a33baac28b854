"""Loading models: whatever their libraries raise becomes one line, and weights must be numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from augment.errors import InputError, OwnCodeError, describe, is_out_of_memory
from augment.models.device import quiet_transformers

LEAST_TOKENS = 3
"""Of a text: two special tokens and one of its own."""
WEIGHT_OPTIONS = {"dtype": "float32", "weights_only": True}
"""How weights are read, from a pickle where there is nothing else: as numbers; no code in it is run."""
OWN_CODE = "trust_remote_code"
"""The option that libraries name if a model has code of its own."""
NOT_RUN = "code of its own, which is not run here"
PICKLED = "a pytorch_model.bin that is damaged, or more than weights; nothing in it was run"


@contextmanager
def loading(what: str, folder: Path, advice: str = "get its files again") -> Iterator[None]:
    """Raise InputError for whatever the libraries raise if they cannot load `what` from a folder."""
    try:
        yield
    except Exception as error:
        if isinstance(error, InputError) or is_out_of_memory(error):
            raise
        is_all_pickled = not any(folder.rglob("*.safetensors"))
        reason = describe(error, 160)
        if "ignore_mismatched_sizes" in str(error):  # what transformers says instead of the cause
            reason = "its weights have other sizes than its config.json says"
        if OWN_CODE in str(error):
            raise OwnCodeError(f"{what} cannot be loaded (it has {NOT_RUN}): take another") from None
        # Torch's own message about a refused pickle says how to run it.
        if isinstance(error, UnpicklingError) or (
            is_all_pickled and isinstance(error, EOFError | LookupError)
        ):
            reason = PICKLED
        raise InputError(f"{what} cannot be loaded ({reason}): {advice}") from None


def load_model(kind: Any, path: Path, what: str, **settings: Any) -> tuple[Any, list[str]]:  # noqa: ANN401
    """One of transformers' models in float32, and the names of the weights that its files lack.

    Raises InputError if it cannot be loaded.
    """
    with loading(what, path), quiet_transformers():
        model, info = kind.from_pretrained(path, output_loading_info=True, **WEIGHT_OPTIONS, **settings)
    check_weights(model, what)
    return model, sorted(info["missing_keys"])


def check_weights(model: Any, what: str) -> None:  # noqa: ANN401 - a torch module
    """Raise InputError for a model with a weight that is NaN or infinite."""
    for name, weight in model.named_parameters():
        if not weight.detach().sum().isfinite():  # a mask of the weights would need memory
            raise InputError(
                f"{what}: its weights are NaN or infinite, the first are {name}: get its files again"
            )


def check_length(tokens: Any, what: str) -> int:  # noqa: ANN401 - whatever a configuration holds
    """The most tokens of a text; raises InputError if a model's configuration leaves none."""
    if not isinstance(tokens, int | float) or not tokens >= LEAST_TOKENS:
        raise InputError(
            f"{what}: it reads at most {tokens!r} tokens (see its model_max_length): correct that"
        )
    return int(tokens)
