"""Find what a user names: a model, an untrained baseline or a function, and a map that is fitted on its vectors."""

from pathlib import Path
from typing import Any

from pipelines.console import InputError
from trainers.baselines.fitting import Adaptation, FitText, read_fit_text, whitening
from trainers.baselines.function import DOTTED, load_function
from trainers.baselines.static import KINDS, StaticEncoder
from trainers.baselines.tfidf import NAME, Tfidf
from trainers.embedding.vectors import TextEncoder

USUAL = {"pooling": None, "max_tokens": None, "precision": "fp32", "device": "auto"}
"""Options of `load_model` that are for models alone, at their defaults."""


def open_encoder(name: str, fit: FitText | None = None, *, batch_size: int = 256, **options: Any) -> TextEncoder:  # noqa: ANN401 - as `load_model` has them
    """Return the encoder called `name`; `options` are those of `load_model`.

    A folder of that name comes first, then `tfidf`, `glove:FILE`, `fasttext:FILE`, `package.module:function`; all else
    is `starter` or a model on the Hub. Raises InputError: there is none, it cannot be loaded, or an option is not for
    it.
    """
    kind, colon, file = name.partition(":")
    static = bool(colon) and kind in KINDS
    if Path(name).expanduser().is_dir() or not (name == NAME or static or DOTTED.fullmatch(name)):
        from trainers.embedding.model import load_model

        return load_model(name, batch_size=batch_size, **options)
    for option, usual in USUAL.items():
        value = options.get(option, usual)
        if value != usual:
            raise InputError(f"{name} is no model: --{option.replace('_', '-')} {value} is not for it, leave it out")
    if static:
        return StaticEncoder(name, Path(file).expanduser())
    return Tfidf(fit) if name == NAME else load_function(name, batch_size)


def open_fit(
    model: str, whiten: str | None, epochs: int | None, fit: Path | None, seed: int
) -> tuple[FitText | None, Adaptation | None]:
    """Return the text to fit on, and the map that `--whiten` (a dimension or `all`) or `--flow` (epochs) asks for.

    Raises InputError: both maps at once, a dimension that is none, or a text without anything to fit on it.
    """
    if fit is not None and whiten is None and epochs is None and (model != NAME or Path(model).is_dir()):
        raise InputError(f"--fit {fit}: nothing of {model} is fitted: leave it out, or add --whiten or --flow")
    if whiten is not None and epochs is not None:
        raise InputError("--whiten and --flow both: give one of them")
    if whiten not in (None, "all") and not (whiten.isdecimal() and int(whiten) > 0):
        raise InputError(f"--whiten {whiten}: give the number of dimensions to keep, or all")
    text = read_fit_text(fit) if fit is not None else None
    if whiten is not None:
        return text, whitening(None if whiten == "all" else int(whiten), text)
    if epochs is None:
        return text, None
    from trainers.baselines.flow import flow

    return text, flow(epochs, seed, text)
