"""Take views made elsewhere, such as a large language model's paraphrases, from a JSON Lines file."""

import unicodedata
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, PrivateAttr, ValidationError

from augment.errors import InputError
from augment.models.weights import check_revision, revision_of
from augment.text.words import special_tokens
from augment.view import Runtime, View, ViewResult, normalise, row_id


class _Line(BaseModel):
    view: str
    text: str | None = None
    id: object = None


class ImportViews(View):
    """The view: lines of `{"text": sentence, "view": its view}`, or with the sentence's `id` instead of its text.

    Additional lines for a sentence are its alternatives. A sentence without a line is "failed" with the reason
    "missing", a blank view "failed" with "empty", and a view with a special token that the sentence lacks "rejected"
    with "special-token".
    """

    name = "import-views"
    folder_option = "by"
    uses_seed = False
    equal_alternatives = True

    file: str = Field(examples=["llm.jsonl"], description="JSON Lines: objects with text (or id) and view")
    by: str = Field(pattern=r"^[\w.-]+$", examples=["MODEL"], description="what made the views; in their folder's name")
    revision: str | None = Field(default=None, description="hold the file to this revision")

    _views: dict[str, dict[str, None]] = PrivateAttr(default_factory=dict)  # by the sentence's id, each once

    def build(self, runtime: Runtime) -> Self:
        """The view with its file read; raises InputError for a missing or malformed file or another revision."""
        try:
            content = Path(self.file).read_bytes()
        except OSError as error:
            raise InputError(f"import-views: cannot read {self.file} ({error.strerror}): check --file") from None
        revision = revision_of(content)
        check_revision(f"import-views: {self.file} has revision", revision, self.revision, "get that one")
        view = self.model_copy(update={"revision": revision})
        view._views = {}
        for number, line in enumerate(content.removeprefix(BOM_UTF8).splitlines(), start=1):
            try:
                row = _Line.model_validate_json(line)
            except ValidationError:
                row = _Line(view="")
            key = row.id if row.text is None else row_id(normalise(row.text))
            if isinstance(key, str):
                view._views.setdefault(key, {})[unicodedata.normalize("NFC", " ".join(row.view.split()))] = None
            elif line.strip():
                message = """is not {"text": "...", "view": "..."} (or id for text)"""
                beginning = line[:60].decode(errors="replace")
                raise InputError(f"import-views: {self.file} line {number} {message}: {beginning!r}")
        if not view._views:
            raise InputError(f'import-views: {self.file} is empty: write {{"text": "...", "view": "..."}} on each line')
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """Look every text up."""
        return [self._view(text) for text in texts]

    def _view(self, text: str) -> ViewResult:
        lines = self._views.get(row_id(normalise(text)))
        if lines is None:
            return ViewResult(None, "failed", "missing")
        if not any(lines):
            return ViewResult(None, "failed", "empty")
        views = [line for line in lines if line and not special_tokens(line) - special_tokens(text)]
        if not views:
            return ViewResult(None, "rejected", "special-token")
        paraphrases = [view for view in views if view != unicodedata.normalize("NFC", text)]
        if not paraphrases:
            return ViewResult(text, "unchanged")
        return ViewResult(paraphrases[0], alternatives=tuple(paraphrases[1:]))
