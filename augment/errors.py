"""The tree of errors.

TwinviewsError            something failed; exit code 1
└── InputError            a user's mistake: one line with what, the value seen, what to do; exit code 2
    ├── OtherOutputError  an output is there already, and made with other options
    └── MissingExtraError an optional dependency is not installed; the line ends with how to install it
"""

import logging
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

# The RuntimeErrors of torch and CTranslate2, on a GPU and on a CPU; Python and NumPy raise MemoryError.
_NO_MEMORY = re.compile("out of memory|(can't|cannot) allocate memory|bad_alloc", re.IGNORECASE)


logger = logging.getLogger("augment")
warn_once = cache(logger.warning)
"""Warn, but of one thing only once in a process."""


class TwinviewsError(Exception):
    """Root of every error that Twinviews raises on purpose."""


class InputError(TwinviewsError):
    """A user's mistake; its message is one line: what, the value seen, what to do."""


class OtherOutputError(InputError):
    """An output of this program is there already, made with other options."""


class OwnCodeError(InputError):
    """A model needs code of its own, which is never run here."""


class MissingExtraError(InputError):
    """An optional dependency is missing: `MissingExtraError("--filter language", "lid")` needs the extra "lid"."""

    def __str__(self) -> str:
        return "{} needs an extra that is not installed: pip install 'twinviews[{}]'".format(*self.args)


LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair: JSON can escape it, but UTF-8 cannot hold it."""


def check_several(texts: object) -> None:
    """Raise InputError for one text where a list of them is due: a string would be taken for its characters."""
    if isinstance(texts, str):
        raise InputError(f"{texts[:60]!r} is one text: give a list of them")


def checked_texts(texts: Iterable[str]) -> list[str]:
    """The texts; raises InputError for one string instead of many, and for what is no text."""
    check_several(texts)
    if not isinstance(texts, Iterable):
        raise InputError(f"{texts!r:.60} is no text: give a list of them")
    for number, text in enumerate(texts := [*texts]):
        if not isinstance(text, str) or LONE_SURROGATE.search(text):
            raise InputError(f"text {number} is {ascii(text)[:60]}: give a string of whole characters")
    return texts


UNKNOWN = "unknown parameter"


def first_problem(error: "ValidationError", form: str = "{}={!r}") -> str:
    """The first problem that pydantic found: a field and its value in this form, and what is wrong with it."""
    problem = error.errors()[0]
    field, value, kind = ".".join(map(str, problem["loc"])), problem["input"], problem["type"]
    if kind == "missing":  # its value would be all the others
        return f"{field} is missing"
    message = UNKNOWN if kind == "extra_forbidden" else problem["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    named = field if value is None else form.format(field, value)
    return f"{named}: {message}" if field else message


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that there was too little memory, on the machine or on its GPU."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and bool(_NO_MEMORY.search(str(error)))
    )


def describe(error: BaseException, length: int = 200) -> str:
    """The kind of an error and its text, cut to `length` characters, on one line."""
    return f"{type(error).__name__}: {one_line(error, length)}".rstrip(": ")


def one_line(error: BaseException | str, length: int) -> str:
    """The text of an error on one line, cut to `length` characters."""
    return " ".join(str(error).split())[:length]
