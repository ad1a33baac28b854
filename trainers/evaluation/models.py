"""Find the encoder that a user names: a model, an untrained baseline, or a function."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.console import InputError

if TYPE_CHECKING:
    from trainers.baselines.fitting import FitText
    from trainers.evaluation.adaptation import Adaptation
    from trainers.evaluation.encoder import Precision
    from trainers.evaluation.pooling import PoolingMode
    from trainers.evaluation.vectors import TextEncoder


@dataclass(frozen=True, slots=True)
class Chosen:
    """How a model is to be encoded with; what is None or at its default was not asked for."""

    pooling: PoolingMode | None = None
    precision: Precision = "fp32"
    device: str = "auto"
    batch_size: int = 256
    batch_tokens: int | None = None
    max_tokens: int | None = None


def open_encoder(name: str, chosen: Chosen, fit: FitText | None = None) -> TextEncoder:
    """Return the encoder called `name`.

    A folder of that name comes first, then `tfidf`, `glove:FILE`, `fasttext:FILE`, `package.module:function`; all else
    is `starter` or a model on the Hub.

    Raises:
        InputError: There is none, it cannot be loaded, or an option is not for it.
    """
    from trainers.baselines.function import DOTTED, load_function
    from trainers.baselines.static import KINDS, StaticEncoder
    from trainers.baselines.tfidf import NAME, Tfidf

    kind, colon, rest = name.partition(":")
    if not Path(name).expanduser().is_dir():
        if name == NAME:
            _only_for_models(name, chosen)
            return Tfidf(fit)
        if colon and kind in KINDS:
            _only_for_models(name, chosen)
            return StaticEncoder(name, _file(kind, rest))
        if DOTTED.fullmatch(name):
            _only_for_models(name, chosen)
            return load_function(name, chosen.batch_size)
    from trainers.evaluation.encoder import load_encoder

    return load_encoder(
        name, pooling=chosen.pooling, precision=chosen.precision, device=chosen.device,
        batch_size=chosen.batch_size, batch_tokens=chosen.batch_tokens, max_tokens=chosen.max_tokens,
    )  # fmt: skip


def open_adaptation(whiten: str | None, flow: int | None, seed: int, fit: FitText | None) -> Adaptation | None:
    """Return the map that `--whiten` (a dimension or `all`) or `--flow` (epochs) asks for, or None.

    Raises:
        InputError: Both at once, or a dimension that is none.
    """
    from trainers.evaluation.adaptation import Adaptation

    if whiten is not None and flow is not None:
        raise InputError("--whiten and --flow both: give one of them")
    if whiten is not None:
        from trainers.baselines.whitening import Whitening

        if whiten != "all" and not (whiten.isdecimal() and int(whiten) > 0):
            raise InputError(f"--whiten {whiten}: give the number of dimensions to keep, or all")
        return Adaptation(Whitening(None if whiten == "all" else int(whiten)), fit)
    if flow is not None:
        from trainers.baselines.flow import FlowFit

        return Adaptation(FlowFit(flow, seed), fit)
    return None


def uses_fit_text(name: str, whiten: str | None, flow: int | None) -> bool:
    """Whether anything is fitted: `--fit` has no meaning otherwise."""
    from trainers.baselines.tfidf import NAME

    return whiten is not None or flow is not None or (name == NAME and not Path(name).is_dir())


def _file(kind: str, rest: str) -> Path:
    if not rest:
        raise InputError(f"{kind}: names no file: write {kind}:FILE, such as {kind}:vectors.txt")
    return Path(rest).expanduser()


def _only_for_models(name: str, chosen: Chosen) -> None:
    usual = Chosen()
    given = [
        option
        for option in ("pooling", "max_tokens", "precision", "device")
        if getattr(chosen, option) != getattr(usual, option)
    ]
    if given:
        option = given[0].replace("_", "-")
        raise InputError(f"{name} is no model: --{option} {getattr(chosen, given[0])} is not for it, leave it out")
