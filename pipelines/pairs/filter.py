"""Filters of pairs: columns in, a reason to drop or none out. Filters are found by file name."""

import inspect
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Self, cast

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from augment.errors import InputError, TwinviewsError, first_problem
from augment.plugins import VIEWS, Plugins, missing_model, plugin_model
from augment.view import WEIGHTS_PARAMS, Runtime, view_class
from pipelines.pairs.pair import Candidate, SideInfo

FILTERS = Plugins("pipelines.pairs.filters", missing_model)
SIDES = ("view_a", "view_b")


@dataclass(frozen=True)
class PairColumns:
    """The pairs that a filter judges.

    `sides` maps names of sides to their view and language, if they are known.
    """

    pairs: Sequence[Candidate]
    sides: Mapping[str, SideInfo]

    def strings(self, name: str) -> list[str]:
        """A column: `text`, `view_a`, `view_b`, `view_a_name`, `view_b_name` or another attribute of a `Candidate`."""
        return [*map(attrgetter(name), self.pairs)]

    def sentences(self, side: str) -> list[str]:
        """The sentence that one side, `view_a` or `view_b`, of each pair is or is a view of."""
        return self.strings("text" if side == "view_a" else "right_sentence")

    def about(self, side: str) -> list[SideInfo]:
        """The view and language of one side, `view_a` or `view_b`, of each pair."""
        return [self.sides.get(name, SideInfo(name)) for name in self.strings(f"{side}_name")]


class Verdicts(NamedTuple):
    """A filter's verdicts: one value per pair, as Arrow arrays or sequences.

    Attributes:
        reasons: Why each pair is dropped, None or null if it is kept. Reasons are counted: use a few short
            texts without numbers or words of the pair.
        scores: Floats for the filter's column, if it has one.
    """

    reasons: Any
    scores: Any = None


class Filter(BaseModel):
    """A filter of pairs. Its fields are its parameters; unknown parameters are refused.

    It gets one batch after another, in the order of the pairs, without those that an earlier filter dropped.
    One that remembers pairs sets `by_row = False`; it and every filter after it run in one process, so give it
    last.

    Attributes:
        by_row: Whether it judges every pair by itself.
        score: The column for its scores, if it gives any.
        versions: The versions of the libraries that its verdicts depend on.

    Example:
        >>> pair = Candidate("1", "A dog.", "A dog.", "A dog.", "original", "synonym")
        >>> make_filter("identical", Runtime())(PairColumns([pair], {})).reasons
        ['identical pair']
    """

    model_config = ConfigDict(extra="forbid")
    by_row: ClassVar[bool] = True
    score: ClassVar[str | None] = None
    versions: ClassVar[Mapping[str, str]] = {}
    _name: str = PrivateAttr("")

    def build(self, runtime: Runtime) -> Self:
        """The filter, ready to judge, with revisions; raises InputError if weights or an extra are missing."""
        return self

    @abstractmethod
    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge n pairs; returns n reasons, and n scores or None."""

    @property
    def name(self) -> str:
        """The name of its file or entry point."""
        return self._name

    def text(self, hidden: Collection[str] = (), **more: str) -> str:
        """The filter as `--filter` takes it: `chrf:max=90.0,min=20.0`."""
        params = {**self.model_dump(exclude=set(hidden), exclude_none=True), **more}
        return _filter_text(self.name, dict(sorted(params.items())))

    def signature(self) -> str:
        """Everything that decides its verdicts: parameters and versions.

        A revision replaces the place of weights.
        """
        return self.text(
            WEIGHTS_PARAMS if getattr(self, "revision", None) is not None else (), **self.versions
        )


class SideFilter(Filter):
    """A filter that judges each side by itself and drops a pair for the first reason."""

    @abstractmethod
    def reasons(self, pairs: PairColumns, side: str) -> Iterable[str | None]:
        """Why pairs are dropped for a side, `view_a` or `view_b`; None where they are not."""

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge both sides of every pair."""
        reasons = (self.reasons(pairs, side) for side in SIDES)
        return Verdicts([left or right for left, right in zip(*reasons, strict=True)])


class Bounds(Filter):
    """A filter that keeps scores between `min` and `max`; a missing bound drops nothing."""

    min: float | None = None
    max: float | None = None

    def verdicts(self, noun: str, scores: Sequence[float]) -> Verdicts:
        """Drop pairs with scores out of bounds; the reason is `noun` too low or too high."""
        low = float("-inf") if self.min is None else self.min
        high = float("inf") if self.max is None else self.max
        reasons = [f"{noun} too low" if x < low else f"{noun} too high" if x > high else None for x in scores]
        return Verdicts(reasons, scores)


def _filter_text(name: str, params: Mapping[str, Any]) -> str:
    values = {key: str(value).lower() if isinstance(value, bool) else value for key, value in params.items()}
    return f"{name}:{','.join(f'{key}={value}' for key, value in values.items())}" if values else name


def is_round_trip(view: str | None) -> bool:
    """Whether a view translates with models to a pivot language and back."""
    return view in VIEWS.usable_names() and {"models", "pivot"} <= view_class(view or "").model_fields.keys()


def filter_summaries() -> list[tuple[str, str]]:
    """Every filter's name and defaults, as a user writes them, and the first line of its module's docstring."""
    summaries = []
    for name in FILTERS.usable_names():
        module = FILTERS.module(name)
        fields = cast(type[BaseModel], plugin_model(module)).model_fields.items()
        defaults = {
            key: "" if field.is_required() or field.default is None else field.default for key, field in fields
        }
        summaries.append((_filter_text(name, defaults), (inspect.getdoc(module) or "").split("\n")[0]))
    return summaries


def make_filter(text: str, runtime: Runtime) -> Filter:
    """Build a filter from `NAME` or `NAME:key=value,key=value`; cheap, as weights are loaded on first use.

    Raises InputError for an unknown filter, a wrong parameter, or missing weights or extras.
    """
    name, _, parameters = text.partition(":")
    name = name.strip().replace("_", "-")
    params = {}
    for part in parameters.split(",") if parameters else []:
        key, equals, value = part.partition("=")
        if not key or not equals:
            raise InputError(f"--filter {text}: {part!r} is not key=value: write NAME:key=value,key=value")
        params[key.strip().replace("-", "_")] = value.strip()
    model = plugin_model(FILTERS.module(name))
    if model is None or not issubclass(model, Filter):
        raise TwinviewsError(
            f"filter {name!r} is not a subclass of pipelines.pairs.filter.Filter: fix the plugin"
        )
    with FILTERS.errors_of(name):
        try:
            filter = model(**params)
        except ValidationError as error:
            names = ", ".join(model.model_fields) or "no parameters"
            raise InputError(f"--filter {text}: {first_problem(error)} (it takes {names})") from None
        filter._name = name
        return filter.build(runtime)
