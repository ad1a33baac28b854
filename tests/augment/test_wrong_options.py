"""What a user may get wrong in a view's options: each is one line that says what to do."""

from typing import Any

import pytest
from checks import refused

from augment.view import ViewSpec, make_view

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("nonsense", {}, "unknown view 'nonsense': choose one of"),
    ("span-mask", {"length": 0}, "span-mask: length=0: input should be greater than or equal to 1"),
    ("span-mask", {"lenght": 3}, "(it takes: length, rate, unit, compat, encoder, revision, keep, keep_pattern"),
    ("span-mask", {"length": 3, "rate": 0.2}, "length=3 and rate=0.2: give one of them"),
    ("span-mask", {"rate": 0.0}, "rate=0.0"),
    ("span-mask", {"compat": True, "rate": 0.2}, "compat with rate=0.2"),
    ("span-mask", {"compat": True, "unit": "word"}, "unit=word, keep=None: the published code masks a length"),
    ("span-mask", {"compat": True, "keep": "terms.txt"}, "keep=terms.txt: the published code"),
    ("span-mask", {"keep_pattern": "["}, "keep_pattern='[' is not a regular expression"),
    ("synonym", {"fraction": "much"}, "synonym: fraction='much'"),
    ("synonym", {"encoder": "somewhere"}, "is for choose=mlm"),
    ("synonym", {"compat": True, "choose": "mlm"}, "compat with choose=mlm"),
    ("synonym", {"compat": True, "keep": "terms.txt"}, "compat with keep=terms.txt"),
    ("synonym", {"language": "fr", "choose": "mlm"}, "knows English only"),
    ("import-views", {"file": "/nowhere", "by": "x"}, "cannot read"),
    ("import-views", {"file": "x", "by": "a/b"}, "by="),
    ("nlpaug", {"augmenter": "SynonmAug"}, "unknown augmenter for text 'SynonmAug': choose one of AbstSummAug"),
    ("backtranslate", {}, "backtranslate: pivot="),
    *(
        ("nlpaug", {"augmenter": augmenter, "arguments": arguments}, expected)
        for augmenter, arguments, expected in [
            ("ContextualWordEmbsAug", {"device": "cuda"}, "device='cuda' among the arguments of ContextualWordEmbsAug"),
            ("SynonymAug", {"lang": "fra"}, "NLTK's Open Multilingual WordNet was not found"),
            ("SplitAug", {"aug_pp": 0.3}, "SplitAug cannot be used: TypeError"),
            ("SplitAug", {"aug_p": "much"}, "SplitAug cannot be used: TypeError"),
            ("SplitAug", {"tokenizer": "str.split"}, "SplitAug cannot be used: TypeError"),
            ("TfIdfAug", {"model_path": "/nowhere/"}, "TfIdfAug cannot be used: FileNotFoundError"),
            ("RandomWordAug", {"action": "eat"}, "RandomWordAug cannot be used: ValueError"),
            ("BackTranslationAug", {"from_model_name": "/nowhere/at/all"}, "BackTranslationAug cannot be used"),
        ]
    ),
    *(
        ("backtranslate", {"pivot": "de", **params}, expected)
        for params, expected in [
            ({"return_decode": "top-p:7"}, "decode 'top-p:7': not a way to decode"),
            ({"temperature": 0.5}, "temperature 0.5: greedy draws nothing"),
            ({"decode": "sample", "temperature": -1.0}, "temperature=-1.0: input should be greater than 0"),
            ({"decode": "sample", "temperature": float("nan")}, "temperature=nan"),
            ({"pivot": "de+"}, "language '': not a language code"),
            ({"pivot": "de|x"}, "language 'de|x': not a language code"),
            ({"pivot": "de+fr"}, "no model from de to fr"),
            ({"pivot": "es"}, "no model from en to es (there are en-de, en-fr, de-en, fr-en); try --models opus-mt"),
            ({"pivot": "de+de"}, "language 'de': source and target are the same"),
            ({"models": "/nowhere"}, "--models /nowhere: no such folder"),
            ({"revision": "abc"}, "revision 'abc': en -> de -> en takes 2 models; join their revisions by +"),
            ({"translator": "transformers", "precision": "int8"}, "'int8': transformers has none on this device"),
            ({"decode": "sample", "precision": "int8"}, "precision 'int8': transformers has none on this device"),
            ({"decode": "sample", "precision": "fp16"}, "precision 'fp16': transformers has none on this device"),
            ({"translator": "ctranslate2", "precision": "fp64"}, "'ctranslate2': greedy and beams in int8 or fp32 on"),
            ({"translator": "ctranslate2", "decode": "sample"}, "with sampling; use auto"),
            *(
                ({"decode": decode}, "greedy, beam:N, sample, top-k:K or top-p:P")
                for decode in ("beam", "beam:0", "beam:100", "Greedy", "sample:3", "top-k:0", "top-p:0.0")
            ),
        ]
    ),
]


@pytest.mark.parametrize(("name", "params", "expected"), WRONG)
def test_a_wrong_option_is_one_line(name: str, params: dict[str, Any], expected: str) -> None:
    with refused(expected):
        make_view(ViewSpec(name, params), device="cpu")
