"""What a filter of pairs is: columns in, "keep" or "drop, because" out; filters are found by their file's name."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, Self, cast, runtime_checkable

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, model_validator

from augment.errors import InputError, TwinviewsError
from augment.plugins import blamed, plugin_model, plugin_module, plugin_names
from augment.translate.stages import HOP
from augment.view import WEIGHTS_PARAMS, Runtime, view_attribute, view_names

FILTERS_PACKAGE = "pipelines.filters"
ENTRY_POINT_GROUP = "twinviews.filters"
SIDES = ("view_a", "view_b")


class About(NamedTuple):
    """What is known of one side of a pair: its name, the view that made it, and its language, None where unknown."""

    name: str
    view: str | None = None
    language: str | None = None


@dataclass(frozen=True)
class PairColumns:
    """Pairs as a filter sees them, column by column.

    Attributes:
        rows: An Arrow record batch of strings: `text`, the sentence (or premise) that a pair comes from, its sides
            `view_a` and `view_b`, and their names `view_a_name` and `view_b_name`.
        known: What is known of the side that has a name.
    """

    rows: Any
    known: Callable[[str], About]

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def strings(self, name: str) -> list[str]:
        """A column as Python strings."""
        strings: list[str] = self.rows.column(name).to_pylist()
        return strings

    def about(self, side: str) -> list[About]:
        """What is known of one side, `view_a` or `view_b`, of each pair."""
        names = self.rows.column(f"{side}_name").dictionary_encode()
        known = [self.known(name) for name in names.dictionary.to_pylist()]
        return [known[index] for index in names.indices.to_pylist()]


class Verdicts(NamedTuple):
    """What a filter says of pairs: columns of their length, as Arrow arrays or as sequences.

    Attributes:
        reasons: Why a pair is dropped, null where it is kept. A reason is one of a few short texts, so that it can be
            counted: no numbers, no words of the pair.
        scores: Floats for the filter's column, if it has one.
    """

    reasons: Any
    scores: Any = None

    def columns(self, name: str, rows: int) -> tuple[Any, Any]:
        """Both as Arrow arrays, of strings and of floats.

        Raises:
            TwinviewsError: The filter of this name gave not as many as the `rows` that it judged.
        """
        import pyarrow as pa

        scores = pa.nulls(rows, pa.float64()) if self.scores is None else pa.array(self.scores, pa.float64())
        columns = pa.array(self.reasons, pa.string()), scores
        for column in columns:
            if len(column) != rows:
                raise TwinviewsError(f"filter {name!r} gave {len(column)} verdicts for {rows} pairs: fix the filter")
        return columns


@dataclass(frozen=True, slots=True)
class FilterSpec:
    """What a filter is called and what decides its verdicts.

    Attributes:
        name: Its name.
        params: Its parameters, as `--filter` takes them.
        score: The column that its scores make, if it gives scores.
        versions: Versions of libraries that its verdicts depend on.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    score: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The filter as `--filter` takes it: `chrf:max=90.0,min=20.0`."""
        return _written(self.name, self.params)

    def signature(self) -> str:
        """What decides its verdicts: `text` and versions, without the place of weights whose revision is known."""
        known = self.params.get("revision") is not None
        params = {key: value for key, value in self.params.items() if not (known and key in WEIGHTS_PARAMS)}
        return _written(self.name, {**params, **self.versions})


@runtime_checkable
class Filter(Protocol):
    """Columns of pairs in, columns of verdicts out.

    It is called with one batch after another, in the order of the pairs, and may remember those it saw; it does not see
    what was dropped before it. Two optional members let worker processes help:

    - `by_row = True`: each pair is judged by itself, so that any process may judge it.
    - `prepare(pairs)` and `settle(prepared)`, which together are the call: `prepare` gives what it takes from each pair
      alone, in any process; `settle` gives the verdicts, batch after batch in one process.

    All filters after the first one without `by_row` run in one process too, so filters that remember are best given
    last.
    """

    @property
    def spec(self) -> FilterSpec:
        """The parameters as they are, defaults and revisions filled in."""
        ...

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        ...


class RowFilter(BaseModel):
    """A filter that judges each pair by itself: its fields are its parameters, others are refused."""

    model_config = ConfigDict(extra="forbid")
    by_row: ClassVar[bool] = True
    score: ClassVar[str | None] = None
    _name: str = PrivateAttr("")

    def build(self, runtime: Runtime) -> Self:
        """The filter, ready to judge."""
        return self

    @property
    def spec(self) -> FilterSpec:
        """The name that it was made by, or its file's, and its parameters."""
        name = self._name or type(self).__module__.rpartition(".")[2].replace("_", "-")
        return FilterSpec(name, self.model_dump(), self.score)

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        return self._judge(pairs)

    def _judge(self, pairs: PairColumns) -> Verdicts:
        raise NotImplementedError


class Bounds(RowFilter):
    """The lowest and the highest score that is kept; a bound that is not given drops nothing."""

    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        return self

    def verdicts(self, what: str, scores: Sequence[float]) -> Verdicts:
        """Drop scores out of bounds: `what` is too low, or too high."""
        low = float("-inf") if self.min is None else self.min
        high = float("inf") if self.max is None else self.max
        reasons = [f"{what} too low" if x < low else f"{what} too high" if x > high else None for x in scores]
        return Verdicts(reasons, scores)


def first_reasons(reasons: Callable[[str], Iterable[str | None]]) -> Verdicts:
    """Drop a pair for its first side that has a reason; `reasons` gives those of `view_a` or `view_b`."""
    return Verdicts([one or two for one, two in zip(*map(reasons, SIDES), strict=True)])


def about_name(name: str) -> About:
    """What a side's name alone says: `translate-de` is a translation to German."""
    stem = name.partition(":")[0]
    for view in sorted(view_names(), key=len, reverse=True):
        if stem == view or stem.startswith(f"{view}-"):
            rest = stem.removeprefix(view).removeprefix("-")
            is_language = rest and view_attribute(view, "named_by") == view_attribute(view, "ends_in", "source")
            return About(name, view, last_hop(rest) if is_language else None)
    return About(name)


def is_round_trip(view: str | None) -> bool:
    """Whether a view goes through another language and back: `through` another view, to where it began."""
    if view is None or view_attribute(view, "through") is None:
        return False
    return bool(view_attribute(view, "ends_in", "source") == "source")


def last_hop(to: str) -> str:
    """The language that a translation ends in: `de+fr`, through German, ends in French."""
    return to.rpartition(HOP)[2]


def filter_names() -> list[str]:
    """Names of all filters, ours (one file each in `pipelines/filters/`) and those of installed packages, sorted."""
    return plugin_names(FILTERS_PACKAGE, ENTRY_POINT_GROUP)


def filter_summaries() -> list[tuple[str, str]]:
    """Every filter's name with its parameters, as a user writes them, and the first line of its docstring."""
    summaries = []
    for name in filter_names():
        module = plugin_module(FILTERS_PACKAGE, ENTRY_POINT_GROUP, name)
        keys = ",".join(f"{key}=" for key in cast(type[BaseModel], plugin_model(module)).model_fields)
        summaries.append((f"{name}:{keys}" if keys else name, (inspect.getdoc(module) or "").split("\n")[0]))
    return summaries


def make_filter(written: str, runtime: Runtime) -> Filter:
    """Build the filter that `NAME` or `NAME:key=value,key=value` stands for; cheap, weights are loaded on first use.

    Raises:
        InputError: No such filter, a wrong parameter, or weights or an extra that are not there.
    """
    name, _, rest = written.partition(":")
    name = name.strip().replace("_", "-")
    params: dict[str, str] = {}
    for part in rest.split(",") if rest else []:
        key, equals, value = part.partition("=")
        if not key or not equals:
            raise InputError(f"--filter {written}: {part!r} is no key=value: write NAME:key=value,key=value")
        params[key.strip().replace("-", "_")] = value.strip()
    module = plugin_module(FILTERS_PACKAGE, ENTRY_POINT_GROUP, name)
    checked: Any = _checked(written, cast(type[BaseModel], plugin_model(module)), params)
    if isinstance(checked, RowFilter):
        checked._name = name
    with blamed(ENTRY_POINT_GROUP, name):
        made = checked.build(runtime) if hasattr(checked, "build") else module.build(checked, runtime)
        return cast(Filter, made)


def _checked(written: str, model: type[BaseModel], params: Mapping[str, str]) -> BaseModel:
    try:
        return model(**params)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        value = f"{where}={first['input']!r}: " if where else ""
        hint = f" (it takes: {', '.join(model.model_fields) or 'none'})" if first["type"] == "extra_forbidden" else ""
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"--filter {written}: {value}{message[:1].lower()}{message[1:]}{hint}") from None


def _written(name: str, params: Mapping[str, Any]) -> str:
    values = {key: str(value).lower() if isinstance(value, bool) else value for key, value in params.items()}
    parts = ",".join(f"{key}={value}" for key, value in sorted(values.items()) if value is not None)
    return f"{name}:{parts}" if parts else name
