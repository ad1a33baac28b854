"""Take views made elsewhere, such as a large language model's paraphrases, from a JSON Lines file."""

from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, ValidationError

from augment.errors import InputError
from augment.files import check_end
from augment.models.weights import check_revision, revision_of
from augment.text.words import STRAIGHT_QUOTES, special_tokens
from augment.view import Runtime, View, ViewResult, normalise, row_id


class _Line(BaseModel):
    view: str | None
    text: str | None = None
    id: object = None

    @property
    def owner(self) -> object:
        return self.id if self.text is None else _folded(self.text)


class ImportViews(View):
    """The view: lines of `{"text": sentence, "view": its view}`, or with the sentence's `id` instead of its text.

    Texts match in NFC, whatever their white space and the shape of their quotation marks. Additional lines for
    a sentence are its alternatives. A sentence without a line is "failed" with the reason "missing", a blank
    or null view "failed" with "empty", and a view with a special token that the sentence lacks "rejected" with
    "special-token".
    """

    name = "import-views"
    folder_option = "by"
    uses_seed = False
    equal_alternatives = True

    file: str = Field(examples=["llm.jsonl"])
    """JSON Lines: objects with text (or id) and view"""
    by: str = Field(pattern=r"^[\w.-]+$", examples=["MODEL"])
    """what made the views; in their folder's name"""
    revision: str | None = None
    """hold the file to this revision"""

    _views: dict[str, list[tuple[int, str]]]  # by text or id, each with its line's number

    def build(self, runtime: Runtime) -> Self:
        """The view with its file in memory.

        Raises InputError for a missing or malformed file or another revision.
        """
        check_end(Path(self.file))
        try:
            content = Path(self.file).read_bytes()
        except OSError as error:
            raise InputError(
                f"import-views: cannot read {self.file} ({error.strerror}): check --file"
            ) from None
        revision = revision_of(content)
        check_revision(f"import-views: {self.file} has revision", revision, self.revision, "get that one")
        views = defaultdict[str, list[tuple[int, str]]](list)
        for number, row in enumerate(content.split(b"\n"), start=1):
            line = _parsed(row)
            if line is not None:
                views[str(line.owner)].append((number, line.view or ""))
            elif row.strip(BOM_UTF8 + b" \t\r"):
                raise InputError(
                    f'import-views: {self.file} line {number} is not {{"text": "...", "view": "..."}} '
                    f"(or id for text): {row[:60].decode(errors='replace')!r}"
                )
        if not views:
            raise InputError(
                f'import-views: {self.file} is empty: write {{"text": "...", "view": "..."}} on each line'
            )
        view = self.model_copy(update={"revision": revision})
        view._views = dict(views)
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """Look every text up."""
        return [self._view(text) for text in texts]

    def _view(self, text: str) -> ViewResult:
        owners = (_folded(text), row_id(normalise(text)))
        lines = sorted(line for owner in owners for line in self._views.get(owner, ()))
        if not lines:
            return ViewResult(None, "failed", "missing")
        texts = dict.fromkeys(normalise(view) for _, view in lines)
        if not any(texts):
            return ViewResult(None, "failed", "empty")
        views = [view for view in texts if view and not special_tokens(view) - special_tokens(text)]
        if not views:
            return ViewResult(None, "rejected", "special-token")
        paraphrases = [view for view in views if _folded(view) != _folded(text)]
        if not paraphrases:
            return ViewResult(text, "unchanged")
        return ViewResult(paraphrases[0], alternatives=tuple(paraphrases[1:]))


def _parsed(content: bytes) -> _Line | None:
    """A line of the file; None if it is not an object with a view and a text or an id."""
    try:
        line = _Line.model_validate_json(content.removeprefix(BOM_UTF8))
    except ValidationError:
        return None
    return line if isinstance(line.owner, str) else None


def _folded(text: str) -> str:
    return " ".join(normalise(text).split()).translate(STRAIGHT_QUOTES)
