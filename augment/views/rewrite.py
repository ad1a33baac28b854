"""Let a language model say the sentence in other words, contradict or translate it, and check the answers."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import regex
from langcodes import Language
from pydantic import Field

from augment.errors import InputError
from augment.files import read_bounded
from augment.models.weights import check_revision, find_encoder, revision_of
from augment.protected_terms import ProtectedTermsView
from augment.rewriting.answers import Answer, read_answer
from augment.rewriting.server import Server
from augment.text.edits import words
from augment.text.words import has_non_word, in_capitals, is_rather
from augment.translate.marian import copies, repeats
from augment.view import JSON, Runtime, ViewResult, normalise

if TYPE_CHECKING:
    from augment.rewriting.local import LocalModel

PROMPTS = {
    "paraphrase": "Say this sentence in other words, as one sentence in {language}. Keep its meaning, its names and "
    "its numbers. Answer with the sentence alone.\n\n{text}",
    "contradiction": "Write one sentence in {language} that is about the same things as this one and cannot be true "
    "if this one is. Answer with the sentence alone.\n\n{text}",
    "translation": "Translate this sentence to {language}. Answer with the translation alone.\n\n{text}",
}
_NAME = regex.compile(
    r"(?<=[^\s.!?…:\"“”‘'«»(\[–—•-]\s)(?!I\b)\p{Lu}[\p{L}\p{M}]*+|\b\p{Lu}{2,}\b|\b\p{L}+\d[\p{L}\d]*+"
)
"""Words with a capital inside a sentence, acronyms, and letters with digits."""
QUESTION = regex.compile(r"[?？؟]")
FEWEST_LETTERS, MOST_TIMES = 20, 1.5
"""An answer to a sentence of so many letters that has so many times as many has added something."""
CAPITALISED_NOUNS = ("de", "lb")
"""Languages in which a capital does not tell a name."""


class Rewrite(ProtectedTermsView):
    """The view; a server's answers may be others the next time, whatever the seed."""

    name = "rewrite"
    folder_option = "to"
    runs_model = ranks = guarded = True
    draws, floor, judged_at_once = 1, 0.8, 64

    model: str = Field(examples=["NAME"])
    """a folder, a name on the Hub, or with --url the server's name of the model"""
    url: str | None = None
    """address of a server of OpenAI's protocol, such as http://localhost:8000/v1; its key is OPENAI_API_KEY's
    value"""
    prompt: str | None = None
    """file with the question, in which {text} and {language} are filled in [see docs/views.md]"""
    means: Literal["paraphrase", "contradiction"] = "paraphrase"
    """what the model is to write"""
    source: str = "en"
    """language of the sentences"""
    to: str | None = None
    """language to translate to, such as de; else the sentences' own"""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """of the draws; 0: the likeliest words"""
    max_tokens: int = Field(default=256, ge=1)
    """most tokens of an answer, thoughts in tags included"""
    revision: str | None = None
    """hold the model to this revision"""

    _writer: "Server | LocalModel"
    _prompt: str

    @property
    def keeps_meaning(self) -> bool:  # type: ignore[override]
        """Whether paraphrases or translations are asked for."""
        return self.means == "paraphrase"

    @property
    def contradicts(self) -> bool:  # type: ignore[override]
        """Whether contradictions are asked for."""
        return not self.keeps_meaning

    @property
    def versions(self) -> dict[str, JSON]:
        """The versions of its libraries, and the hash of the question."""
        return {**super().versions, "prompt": revision_of(self._prompt.encode())}

    def languages(self) -> list[str]:
        """The languages of the sentences and of the views."""
        return [self.source, self.to or self.source]

    def build(self, runtime: Runtime) -> Self:
        """The view with its question and who answers; raises InputError if one of them is missing."""
        view = super().build(runtime)
        if self.to is not None and self.means != "paraphrase":
            raise InputError(f"rewrite: to={self.to} with means={self.means}: give one of them")
        language = Language.get(self.to or self.source).display_name()
        view._prompt = _question(self.prompt, self.means if self.to is None else "translation")
        view._prompt = view._prompt.replace("{language}", language)
        settings = self.temperature, self.max_tokens
        if self.url is not None:
            view._writer = Server(self.url, self.model, *settings, runtime.concurrency)
            view.revision = view._writer.revision
            check_revision(f"rewrite: {self.url} serves", view.revision, self.revision, "ask for that one")
        else:
            from augment.rewriting.local import LocalModel  # it needs torch

            weights = find_encoder(self.model, self.revision, "--model")
            view.revision = weights.revision
            view._writer = LocalModel(weights.path, *settings, runtime.device, runtime.batch_tokens)
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """Ask once for every text."""
        return [*self.results(texts, seeds)]

    def results(self, texts: Sequence[str], seeds: Sequence[int]) -> Iterator[ViewResult]:
        """The same one by one, while a server is asked for the next ones."""
        prompts = [self._prompt.replace("{text}", text) for text in texts]
        return map(self._viewed, texts, self._writer.write(prompts, seeds, partial(self._read, texts)))

    def _read(self, texts: Sequence[str], row: int, answer: str, is_cut: bool) -> Answer:
        return read_answer(answer, texts[row], self.languages()[1], is_cut=is_cut)

    def _viewed(self, text: str, answer: Answer) -> ViewResult:
        view = normalise(answer.text or "")
        if not view:
            return ViewResult(None, "failed", answer.reason or "empty")
        return ViewResult(text, "unchanged") if view == text else ViewResult(view)

    def problem(self, text: str, view: str) -> str | None:
        """What speaks against an answer, whatever it means, in a word, such as "slots", "names" or "longer"."""
        source, target = self.languages()
        if any(text[start:end] not in view for start, end in self.protected_spans(text)):
            return "slots"
        has_names = self.keeps_meaning and source == target not in CAPITALISED_NOUNS and not in_capitals(text)
        if has_names and any(name not in view for name in _NAME.findall(text)):
            return "names"
        if self.keeps_meaning and source == target:
            if bool(QUESTION.search(text)) != bool(QUESTION.search(view)):
                return "question"
            letters = [sum(map(str.isalpha, side)) for side in (text, view)]
            if letters[0] >= FEWEST_LETTERS and letters[1] > MOST_TIMES * letters[0]:
                return "longer"
        if repeats(*([word.text for word in words(side)] for side in (view, text))):
            return "repetition"
        other = source if source != target else "en"
        if (source != target and copies(view, text)) or is_rather(other, view, target):
            return "language"
        return "non-word" if has_non_word(view, target, text) else None

    def remarks(self) -> Sequence[str]:
        """What a server took and gave."""
        writer = self._writer
        if not isinstance(writer, Server):
            return ()
        return [f"{self.name}: {writer.tokens_in:,} tokens in, {writer.tokens_out:,} tokens out"]


def _question(path: str | None, kind: str) -> str:
    """The question in a file, or the usual one; raises InputError if it has no place for the sentence."""
    if path is None:
        return PROMPTS[kind]
    try:
        question = read_bounded(Path(path)).decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"prompt={path} cannot be read ({error}): write a question in UTF-8") from None
    if "{text}" not in question:
        raise InputError(f"prompt={path} has no {{text}}: write it where the sentence belongs")
    return question
