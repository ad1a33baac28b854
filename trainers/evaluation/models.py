"""Find what a user names: a model, an untrained baseline or a function, and a map that is fitted on its vectors."""

from dataclasses import asdict, dataclass
from pathlib import Path

from pipelines.console import InputError
from trainers.baselines.fitting import Adaptation, FitText
from trainers.embedding.model import Precision
from trainers.embedding.vectors import TextEncoder
from trainers.encoders.modules import Pooling


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a model is to encode; what is None or at its default was not asked for."""

    pooling: Pooling | None = None
    precision: Precision = "fp32"
    device: str = "auto"
    batch_size: int = 256
    batch_tokens: int | None = None
    max_tokens: int | None = None


def open_encoder(name: str, encoding: Encoding, fit: FitText | None = None) -> TextEncoder:
    """Return the encoder called `name`.

    A folder of that name comes first, then `tfidf`, `glove:FILE`, `fasttext:FILE`, `package.module:function`; all else
    is `starter` or a model on the Hub. Raises InputError: there is none, it cannot be loaded, or an option is not for
    it.
    """
    from trainers.baselines.function import DOTTED, load_function
    from trainers.baselines.static import KINDS, StaticEncoder
    from trainers.baselines.tfidf import NAME, Tfidf

    kind, colon, file = name.partition(":")
    static = bool(colon) and kind in KINDS
    if Path(name).expanduser().is_dir() or not (name == NAME or static or DOTTED.fullmatch(name)):
        from trainers.embedding.model import load_model

        return load_model(name, **asdict(encoding))
    for option in ("pooling", "max_tokens", "precision", "device"):
        value = getattr(encoding, option)
        if value != getattr(Encoding(), option):
            raise InputError(f"{name} is no model: --{option.replace('_', '-')} {value} is not for it, leave it out")
    if static:
        return StaticEncoder(name, Path(file).expanduser())
    return Tfidf(fit) if name == NAME else load_function(name, encoding.batch_size)


def open_fit(
    model: str, whiten: str | None, epochs: int | None, fit: Path | None, seed: int
) -> tuple[FitText | None, Adaptation | None]:
    """Return the text to fit on, and the map that `--whiten` (a dimension or `all`) or `--flow` (epochs) asks for.

    Raises InputError: both maps at once, a dimension that is none, or a text without anything to fit on it.
    """
    from trainers.baselines.fitting import read_fit_text

    if fit is not None and whiten is None and epochs is None and (model != "tfidf" or Path(model).is_dir()):
        raise InputError(f"--fit {fit}: nothing of {model} is fitted: leave it out, or add --whiten or --flow")
    if whiten is not None and epochs is not None:
        raise InputError("--whiten and --flow both: give one of them")
    if whiten not in (None, "all") and not (whiten.isdecimal() and int(whiten) > 0):
        raise InputError(f"--whiten {whiten}: give the number of dimensions to keep, or all")
    text = read_fit_text(fit) if fit is not None else None
    if whiten is not None:
        from trainers.baselines.fitting import whitening

        return text, whitening(None if whiten == "all" else int(whiten), text)
    if epochs is None:
        return text, None
    from trainers.baselines.flow import flow

    return text, flow(epochs, seed, text)
