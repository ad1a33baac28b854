"""What a language model's answer is worth: the sentence in it, or why there is none."""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import regex

from augment.text.sentences import sentences

THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL)
OPEN_THOUGHT = re.compile(r"<(?:think|thinking|thought|reasoning)>")
REFUSAL = re.compile(
    r"(?:I['’]m sorry|I am sorry|Sorry|I apologi[sz]e|As an AI|As a language model|Unfortunately, I"
    r"|I (?:can['’]t|cannot|can not|am unable|am not able|won['’]t)|I['’]m (?:unable|not able|afraid))\b",
    re.IGNORECASE,
)
PREAMBLE = re.compile(
    r"(?:Here(?:['’]s| is| are)|Sure|Certainly|Of course|Okay|OK)\b[^:\n]{0,100}:\s*"
    r"|(?:\w+ )?(?:paraphrased?|rewritten|rewrite|rephrased|translation|translated|contradiction|answer|output|response"
    r"|sentence|version)(?: \w+){0,2}:\s*"
    r"|In other words, ",
    re.IGNORECASE,
)
EXPLANATION = re.compile(
    r"\(?(?:Note|Explanation|Explained|This (?:sentence|version|rewrite|paraphrase|translation)"
    r"|I (?:changed|replaced|used)|In this|The (?:original|new|rewritten) sentence|Let me know)\b",
    re.IGNORECASE,
)
ABOUT_IT = re.compile(r"\b(?:this|the) (?:given |original |following |English )?sentence\b", re.IGNORECASE)
"""Says something of the sentence instead of what it says."""
ITEM = re.compile(r"(?:\d{1,2}[.)]|[-*•])\s+")
MARKUP = re.compile(r"\*\*(.+?)\*\*|^#+\s+", re.DOTALL)
QUOTED = regex.compile(
    r"(?:\"(?P<s>[^\"]+)\"|“(?P<s>[^”]+)”|'(?P<s>[^']+)'|«\s*(?P<s>[^»]+?)\s*»|„(?P<s>[^“”]+)[“”])"
)


class Answer(NamedTuple):
    """The sentence of an answer, or the reason why there is none."""

    text: str | None
    reason: str | None = None


Read: TypeAlias = Callable[[int, str, bool], Answer]
"""What makes an answer of a prompt's number, a model's text, and whether that was cut."""


def read_answer(answer: str, sentence: str, language: str, *, is_cut: bool = False) -> Answer:
    r"""The one sentence that an answer to `sentence` holds.

    Thoughts in tags, what introduces the sentence, quotation marks, list numbers and bold type are left out.
    Reasons against an answer are "cut", "empty", "refusal", "explanation", and "several" for more sentences
    than the sentence has.

    Example:
        >>> read_answer('Here is the sentence in other words:\n"A dog runs."', "A dog is running.", "en").text
        'A dog runs.'
    """
    plain = THOUGHT.sub("", answer).strip()
    if is_cut or OPEN_THOUGHT.search(plain):
        return Answer(None, "cut")
    if not MARKUP.search(sentence):
        plain = MARKUP.sub(lambda match: match[1] or "", plain)
    if REFUSAL.match(plain) and not REFUSAL.match(sentence):
        return Answer(None, "refusal")
    if (preamble := PREAMBLE.match(plain)) and not PREAMBLE.match(sentence):
        plain = plain[preamble.end() :]
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    if not lines:
        return Answer(None, "empty")
    if len(lines) > 1:
        return Answer(None, "explanation" if EXPLANATION.match(lines[1]) else "several")
    text = lines[0]
    if (item := ITEM.match(text)) and not ITEM.match(sentence):
        text = text[item.end() :]
    quoted = QUOTED.fullmatch(text)
    if quoted and not QUOTED.fullmatch(sentence):
        text = quoted["s"]
    is_about = ABOUT_IT.search(text) and not ABOUT_IT.search(sentence)
    if is_about or any(EXPLANATION.match(part.strip()) for part in sentences(text, language)[1:]):
        return Answer(None, "explanation")
    if len(sentences(text, language)) > len(sentences(sentence, language)):
        return Answer(None, "several")
    return Answer(text.strip()) if text.strip() else Answer(None, "empty")
