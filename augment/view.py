"""The central types: what makes a view, what became of a sentence, one seed a row, and views found by file name."""

from __future__ import annotations

import json
import random
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, cast

import xxhash
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from augment import __version__
from augment.errors import InputError, TwinviewsError
from augment.plugins import blamed, plugin_model, plugin_module, plugin_names

JSON: TypeAlias = str | int | float | bool | Sequence["JSON"] | Mapping[str, "JSON"] | None
Status: TypeAlias = Literal["ok", "unchanged", "failed", "rejected"]

VIEWS_PACKAGE = "augment.views"
ENTRY_POINT_GROUP = "twinviews.views"
WEIGHTS_PARAMS = ("models", "encoder", "file")
"""Parameters that say where weights or texts lie; a signature leaves them out once a `revision` says which they are."""


class Edit(NamedTuple):
    """One replacement in the original string: `text[start:end] == old` becomes `new`; offsets in characters."""

    start: int
    end: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """Everything that decides a view's text: its name ("mlm-fill") and its parameters, no device or batch size."""

    name: str
    params: Mapping[str, JSON] = field(default_factory=dict)

    def signature(self) -> str:
        """One line for papers and plans: `view:backtranslate|decode:beam:4|pivot:de|rev:9f3ab2c41d07|v:0.1.0`.

        Parameters stand in alphabetical order and those that are None are left out, so that equal parameters have
        equal signatures.
        """
        params = {key: value for key, value in self.params.items() if value is not None}
        revision = params.pop("revision", None)
        if revision is not None:
            for key in WEIGHTS_PARAMS:
                params.pop(key, None)
        if "keep_revision" in params:
            del params["keep"]
        parts = [("view", self.name), *sorted(params.items())]
        if revision is not None:
            parts.append(("rev", revision))
        return "|".join(f"{key}:{_shown(value)}" for key, value in [*parts, ("v", __version__)])


class Viewed(NamedTuple):
    """What became of one sentence.

    Attributes:
        text: The view; None only with status "failed" or "rejected".
        status: "ok", "unchanged" (the view equals the sentence), "failed" or "rejected" (then `reason` says why).
        reason: A short word that can be counted, such as "too-long"; None when all went well at once.
        pivot: The intermediate translation of views that have one.
        alternatives: Further views of the sentence, none equal to `text` or another: the rest of an n-best list or of
            several samples, the best first.
        edits: Applied to the sentence they give `text`; empty for views that rewrite the whole.
        target_fraction: The share of units that was asked for, in [0, 1]; which units count, the view says.
        achieved_fraction: The share of them that was changed, in [0, 1]; None where there is none to count.
    """

    text: str | None
    status: Status = "ok"
    reason: str | None = None
    pivot: str | None = None
    edits: tuple[Edit, ...] = ()
    target_fraction: float | None = None
    achieved_fraction: float | None = None
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runtime:
    """How a view is made, none of which may decide its text: the device and the size of a batch in tokens."""

    device: str = "auto"
    batch_tokens: int | None = None


class View(BaseModel):
    """A view of sentences; its fields are its options, from which the command line has its own.

    `build` makes it ready to be called. A view may also have these, all of which follow from its options:

    - `through`: the view that it is made out of, if that is worth keeping (back-translation and its pivot), and
      `complete(texts, seeds, between)`, which goes on from what `through` made of the sentences;
    - `tokenise(texts, between=None)`, which a pipeline calls ahead of the view itself, in another thread.

    Attributes:
        name: What the command line and signatures call it.
        named_by: The option that its default folder is named by: `--pivot de` and `--pivot fr` lie side by side.
        ends_in: The option with the language that its texts end in, of several hops the last.
        keeps_masks: Whether `[MASK]` in its texts is wanted.
    """

    model_config = ConfigDict(extra="forbid")

    name: ClassVar[str]
    named_by: ClassVar[str | None] = None
    ends_in: ClassVar[str] = "source"
    keeps_masks: ClassVar[bool] = False

    def build(self, runtime: Runtime) -> View:
        """The view with its weights and word lists found and all parameters filled in; weights are loaded on first use.

        Raises:
            InputError: Options contradict, or models, word lists or an extra are missing or of another revision.
        """
        return self

    @property
    def spec(self) -> ViewSpec:
        """All parameters that decide a text; of a built view with defaults and revisions filled in."""
        return ViewSpec(self.name, self.model_dump())

    @property
    def draws(self) -> bool:
        """Whether seeds change the text."""
        return True

    @abstractmethod
    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text; the same text and seed give the same view whatever else is in the batch."""


def row_seed(run_seed: int, row_id: str, signature: str) -> int:
    """The seed of one row of one view in [0, 2^63): xxh64 of run seed, row id and view signature."""
    return xxhash.xxh64_intdigest(f"{run_seed}\x1f{row_id}\x1f{signature}".encode()) & (2**63 - 1)


def seeded(seeds: Iterable[int]) -> Iterator[random.Random]:
    """One generator, seeded anew by each seed: a new one would be seeded twice, which takes as long as many a view."""
    draw = random.Random()
    for seed in seeds:
        draw.seed(seed)
        yield draw


def view_names() -> list[str]:
    """Names of all views, ours (one file each in `augment/views/`) and those of installed packages, sorted."""
    return plugin_names(VIEWS_PACKAGE, ENTRY_POINT_GROUP)


def view_class(name: str) -> type[BaseModel]:
    """The pydantic model whose fields are a view's options: the view itself, or `PARAMS` of a module with `build`.

    Raises:
        InputError: There is no such view.
    """
    return cast("type[BaseModel]", plugin_model(view_module(name)))


def view_module(name: str) -> ModuleType:
    """The module of a view; raises InputError if there is no such view."""
    return plugin_module(VIEWS_PACKAGE, ENTRY_POINT_GROUP, name)


def view_attribute(name: str, attribute: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever a class has
    """An attribute of a view's class (see `View`); `default` where there is no such view or attribute."""
    return getattr(view_class(name), attribute, default) if name in view_names() else default


def view_options(name: str) -> dict[str, FieldInfo]:
    """The options of a view by name, its own before those that it shares with others."""
    model = view_class(name)
    own = vars(model).get("__annotations__", {})
    return dict(sorted(model.model_fields.items(), key=lambda option: option[0] not in own))


def check_params(name: str, params: Mapping[str, Any]) -> BaseModel:
    """`params` as the view's own pydantic model, defaults filled in.

    Raises:
        InputError: A parameter is unknown, of the wrong type or out of range; the line names it and its value.
    """
    model = view_class(name)
    try:
        with blamed(ENTRY_POINT_GROUP, name):
            return model(**params)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "parameters"
        known = ", ".join(view_options(name)) or "none"
        hint = f" (it takes: {known})" if first["type"] == "extra_forbidden" else ""
        raise InputError(f"{name}: {where}={first['input']!r}: {first['msg'].lower()}{hint}") from None


def make_view(spec: ViewSpec, *, device: str = "auto", batch_tokens: int | None = None) -> View:
    """Build the view that `spec` names; cheap, as weights are loaded on first use.

    Args:
        spec: Name and parameters; missing parameters take their defaults, and the built view's own `spec` has
            them all, with the revision of the weights it will use. A `revision` that is given is held to.
        device: "auto", "cpu", "cuda" or "cuda:N".
        batch_tokens: Tokens in one batch, padding included; None for the view's own choice.

    Raises:
        InputError: No such view, a wrong parameter, or models, word lists or an extra that are not there.
        TwinviewsError: Another package's view cannot be built.
    """
    options = check_params(spec.name, spec.params)
    runtime = Runtime(device=device, batch_tokens=batch_tokens)
    with blamed(ENTRY_POINT_GROUP, spec.name):
        build = options.build if isinstance(options, View) else partial(view_module(spec.name).build, options)
        view = build(runtime)
    if not callable(view) or not isinstance(getattr(view, "spec", None), ViewSpec):
        raise TwinviewsError(
            f"view {spec.name!r}: build gave {type(view).__name__}, which is not a view: fix the plugin"
        )
    return cast(View, view)


def _shown(value: JSON) -> str:
    """A parameter in a signature; "|" would end it, so that is written as %7C."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text.replace("%", "%25").replace("|", "%7C")
