"""The central types (views, their results, edits), and the id and the seed of a row."""

import json
import re
import unicodedata
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain, repeat
from typing import Annotated, ClassVar, Literal, NamedTuple, Self, TypeAlias

import regex
import xxhash
from pydantic import BaseModel, ConfigDict, Field

from augment.version import __version__

JSON: TypeAlias = str | int | float | bool | Sequence["JSON"] | Mapping[str, "JSON"] | None
Status: TypeAlias = Literal["ok", "unchanged", "failed", "rejected"]
Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]

WEIGHTS_PARAMS = ("models", "model", "encoder", "file")
"""Parameters that say where weights or texts are; a signature omits them if a `revision` identifies the
content."""
PATH_PARAMS = (*WEIGHTS_PARAMS, "keep", "judge_encoder", "prompt", "url")
"""All parameters with paths or names; of the next three, a signature has the revision of the content instead."""
DRAWN_TEXTS = 2_048
"""Sentences whose draws are held at once."""
_UNSEEN = "\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u2060\ufeff"
INVISIBLE = regex.compile(rf"[{_UNSEEN}]|(?<=\p{{M}}{{30}})\p{{M}}")
"""What changes no text: such characters, and more than 30 accents on a letter (Unicode's stream-safe
limit)."""
_RIGHT_TO_LEFT = regex.compile(r"(?=\p{L})[\p{bc=R}\p{bc=AL}]")
_INVISIBLE_LEFT_TO_RIGHT = regex.compile(
    rf"[{_UNSEEN}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|(?<=\p{{M}}{{30}})\p{{M}}"
)
"""The same for texts without right-to-left letters, in which direction marks change nothing."""
LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
"""The letters of `ﬁ` and the like, which text out of a PDF has and no tokenizer reads."""
SEEN = re.compile(
    "[^\\s\u034f\u061c\u115f\u1160\u180e\u200c-\u200f\u202a-\u202e\u2061-\u206f\u3164\ufe00-\ufe0f]"
)
"""A character that can be seen."""


class Edit(NamedTuple):
    """One replacement in the original string: `text[start:end] == old` becomes `new`.

    Offsets in characters.
    """

    start: int
    end: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """Everything that decides a view's text: its name ("mlm-fill") and its parameters, no device or batch size.

    Parameters that are left out have their defaults once the view is built. `versions` are those of its
    libraries, and of the content of files that parameters name, by the parameter.

    Example:
        >>> ViewSpec("repeat", {"rate": 0.5}).signature().rpartition("|")[0]
        'view:repeat|rate:0.5'
    """

    name: str
    params: Mapping[str, JSON] = field(default_factory=dict)
    versions: Mapping[str, JSON] = field(default_factory=dict)

    def signature(self) -> str:
        """One line for papers and plans: `view:backtranslate|decode:beam:4|pivot:de|rev:9f3ab2c41d07|v:0.1.0`.

        Parameters are in alphabetical order, without those that are None; a "|" in one is written as %7C.
        """
        params = {**self.params, **self.versions}
        revision = params.pop("revision", None)
        identified = () if revision is None else WEIGHTS_PARAMS
        options = {key: value for key, value in sorted(params.items()) if key not in identified}
        return signature_line({"view": self.name, **options, "rev": revision, "v": __version__})

    def seed_key(self) -> str:
        """The name and the options in one line, which the seeds of rows depend on.

        Versions, revisions and the places of files are not in it, so none of their updates draws all rows
        anew.
        """
        files = (*PATH_PARAMS, "revision")
        options = {key: value for key, value in sorted(self.params.items()) if key not in files}
        return signature_line({"view": self.name, **options})


def signature_line(parts: Mapping[str, JSON]) -> str:
    """Names and values, but for None, as `name:value` between bars."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for key, value in parts.items()
        if value is not None
    }
    return "|".join(f"{key}:{text.replace('%', '%25').replace('|', '%7C')}" for key, text in texts.items())


class ViewResult(NamedTuple):
    """What became of one sentence.

    Attributes:
        text: The view; None only with status "failed" or "rejected".
        status: "ok", "unchanged" (the view equals the sentence), "failed" or "rejected" (then `reason` says
            why).
        reason: A short label for counting, such as "too-long"; None for a good first try.
        pivot: The intermediate translation, if any.
        edits: The edits of the sentence that give `text`; empty for views that rewrite the whole sentence.
        target_fraction: The share of the view's units to change, in [0, 1]; None if there are no units.
        achieved_fraction: The share that was changed.
        alternatives: Further views of the sentence, all different.
    """

    text: str | None
    status: Status = "ok"
    reason: str | None = None
    pivot: str | None = None
    edits: tuple[Edit, ...] = ()
    target_fraction: Fraction | None = None
    achieved_fraction: Fraction | None = None
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runtime:
    """What changes no text.

    Attributes:
        device: "auto", "cpu", "cuda" or "cuda:N".
        batch_tokens: Tokens of a batch (None: the view's choice).
        concurrency: Requests at once to a server.
    """

    device: str = "auto"
    batch_tokens: int | None = None
    concurrency: int = 16


class View(BaseModel):
    """A view of sentences; its fields are its options on the command line, with the docstrings as their help.

    Attributes:
        name: Its name on the command line and in signatures.
        folder_option: The option that names its default folder, so that `--pivot de` and `--pivot fr` have one
            each.
        sentence_language_option: The option with the language of its sentences.
        language_option: The option with the language of its texts; of several hops, the last.
        runs_model: Whether it runs a model, for which it takes a GPU if there is one.
        uses_seed: Whether seeds change its texts.
        equal_alternatives: Whether its alternatives are as good as its text, so that pairs are made of all of
            them.
        keeps_meaning: Whether a view should mean what its sentence means, so that an encoder chooses among its
            texts, and that it is no negative.
        contradicts: Whether its texts contradict their sentences, so that they are negatives alone.
        draws: How many texts that encoder then chooses from by default.
        floor: The least similarity to its sentence, in [0, 1], that the bundled encoder must then find.
        judged: Of how many texts, those of the closest words, it compares more than the words (None: of all).
        guarded: Whether its rules and its floor hold for a single text too, which is then none rather than a
            wrong one.
        judged_at_once: How many sentences' texts are drawn before the rules and the encoder choose among them.
        ranks: Whether the text of the closest meaning is taken, not the first one drawn, and rather the
            sentence
            itself than none.
        libraries: Packages whose versions change its texts and therefore stand in its signature.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    name: ClassVar[str]
    folder_option: ClassVar[str | None] = None
    sentence_language_option: ClassVar[str] = "source"
    language_option: ClassVar[str] = "source"
    runs_model: ClassVar[bool] = False
    uses_seed: ClassVar[bool] = True
    equal_alternatives: ClassVar[bool] = False
    keeps_meaning: ClassVar[bool] = False
    contradicts: ClassVar[bool] = False
    draws: ClassVar[int] = 8
    floor: ClassVar[float] = 0.9
    judged: ClassVar[int | None] = None
    guarded: ClassVar[bool] = False
    judged_at_once: ClassVar[int] = DRAWN_TEXTS
    ranks: ClassVar[bool] = False
    libraries: ClassVar[tuple[str, ...]] = ()

    def build(self, runtime: Runtime) -> Self:
        """The view with the revisions of its weights, which are loaded at its first call, and of its word lists.

        Raises InputError for a wrong parameter, or if a model, a file or an extra is missing.
        """
        return self

    @property
    def spec(self) -> ViewSpec:
        """All parameters that decide a text; those of a built view include the revisions of its weights."""
        return ViewSpec(self.name, self.params, self.versions)

    @property
    def params(self) -> dict[str, JSON]:
        """All options by their names."""
        return self.model_dump()

    @property
    def versions(self) -> dict[str, JSON]:
        """The versions of its libraries by their names, and the revisions of files by the options that name them."""
        return {name: version(name) for name in self.libraries}

    @property
    def engine(self) -> tuple[str, str] | None:
        """The engine and precision that run its models, if its options have them: its judge then runs there too."""
        return None

    def usual_draws(self, *, is_judged: bool) -> int:
        """How many texts are drawn unless the user says so, if an encoder can judge them or if none can."""
        return self.draws if self.keeps_meaning and is_judged else 1

    def languages(self) -> list[str]:
        """The languages of the sentences and of the view, as far as options name them."""
        options = (self.sentence_language_option, self.language_option)
        return [getattr(self, option, "en") for option in options]

    def remarks(self) -> Sequence[str]:
        """What to tell the user once texts have been viewed."""
        return ()

    def problem(self, text: str, view: str) -> str | None:
        """Why a view cannot be taken, whatever an encoder says of it; None if nothing speaks against it."""
        return None

    def drawn(self, texts: Sequence[str], seeds: Sequence[int], number: int) -> Iterable[Sequence[ViewResult]]:
        """Up to `number` views of each text to choose from, the first of them by its own seed."""
        for start in range(0, len(texts), DRAWN_TEXTS):
            block, own = texts[start : start + DRAWN_TEXTS], seeds[start : start + DRAWN_TEXTS]
            draws = [[seed, *(row_seed(seed, str(draw), "") for draw in range(1, number))] for seed in own]
            repeated = [text for text in block for _ in range(number)]
            views = iter(self.results(repeated, [*chain.from_iterable(draws)]))
            yield from zip(*repeat(views, number), strict=True)

    def results(self, texts: Sequence[str], seeds: Sequence[int]) -> Iterable[ViewResult]:
        """What a call returns, one by one where the first are there before the last."""
        return self(texts, seeds)

    @abstractmethod
    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View n texts, in NFC and without outer white space, by n seeds, integers in [0, 2^63).

        Returns n results in the same order, each with a text unless it failed or is rejected. A result depends
        on its text and seed, not on the rest of the batch.
        """


def invisible(text: str) -> regex.Pattern[str]:
    """What changes nothing in a text: control characters but white space, zero-width spaces, soft hyphens and the like.

    Joiners and variation selectors do, and direction marks beside right-to-left letters.
    """
    return INVISIBLE if text.isascii() or _RIGHT_TO_LEFT.search(text) else _INVISIBLE_LEFT_TO_RIGHT


def visible(text: str, whole: str | None = None) -> str:
    """NFC, letters for ligatures, and nothing `invisible` in the `whole` text, of which `text` may be a part."""
    seen = invisible(text if whole is None else whole).sub("", text)
    return unicodedata.normalize("NFC", seen.translate(LIGATURES))


def normalise(text: str) -> str:
    """`visible` text without outer white space; empty if nothing in it can be seen."""
    text = visible(text).strip()
    return text if SEEN.search(text) else ""


def row_id(text: str) -> str:
    """The id of a normalised text: its xxh64 as 16 hex digits."""
    return xxhash.xxh64_hexdigest(text.encode())


def row_seed(run_seed: int, row_id: str, key: str) -> int:
    """The seed of one row of one view, in [0, 2^63): xxh64 of `--seed`, the row's id and the view's `seed_key`.

    Example:
        >>> row_seed(0, row_id("A dog runs."), "view:identity")
        3746546470010653902
    """
    return xxhash.xxh64_intdigest(f"{run_seed}\x1f{row_id}\x1f{key}".encode()) & (2**63 - 1)
